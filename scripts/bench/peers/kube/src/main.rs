//! One controller on kube for each case of scripts/bench/run, tuned as its optimisation page says: managed
//! fields dropped before the cache, jemalloc, link-time optimisation.

mod args;
mod kinds;

use std::{
    hash::Hash,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Instant,
};

use args::Args;
use futures::StreamExt;
use kinds::{Bench, SENTINEL, Website};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
    config::{Config, KubeConfigOptions, Kubeconfig},
    core::{NamespaceResourceScope, GroupVersionKind},
    runtime::{
        WatchStreamExt,
        controller::{Action, Config as ControllerConfig, Controller},
        reflector::{self, store::Writer},
        watcher,
    },
};
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn say(milestone: &str, mut fields: Value) {
    fields["milestone"] = milestone.into();
    println!("{fields}");
}

struct Context<K: Resource + 'static>
where
    K::DynamicType: Eq + Hash,
{
    client: Client,
    args: Args,
    seen: AtomicI64,
    reader: reflector::Store<K>,
    dyntype: K::DynamicType,
}

trait Kind: Bench + Resource + Clone + std::fmt::Debug + Send + Sync + serde::de::DeserializeOwned + 'static {
    fn api(client: &Client, namespace: &str, dyntype: &Self::DynamicType) -> Api<Self>;
}

impl Kind for Website {
    fn api(client: &Client, namespace: &str, _: &()) -> Api<Self> {
        namespaced(client, namespace)
    }
}

impl Kind for k8s_openapi::api::core::v1::Pod {
    fn api(client: &Client, namespace: &str, _: &()) -> Api<Self> {
        namespaced(client, namespace)
    }
}

impl Kind for DynamicObject {
    fn api(client: &Client, namespace: &str, dyntype: &ApiResource) -> Api<Self> {
        Api::namespaced_with(client.clone(), namespace, dyntype)
    }
}

fn namespaced<K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>>(client: &Client, namespace: &str) -> Api<K> {
    Api::namespaced(client.clone(), namespace)
}

/// kube has no index; whoever asks for some of the cached objects looks at all of them.
fn measure_lists<K: Kind>(context: &Context<K>)
where
    K::DynamicType: Eq + Hash + Clone,
{
    for _ in 0..context.args.rounds {
        let start = Instant::now();
        let found = context.reader.state().into_iter().filter(|o| o.labels().get("tenth").is_some_and(|v| v == "3"));
        let objects = found.filter(|o| o.touch()).count();
        say("label_shared", json!({"objects": objects, "seconds": start.elapsed().as_secs_f64()}));
    }
    say("listed", json!({}));
}

async fn reconcile<K: Kind>(object: Arc<K>, context: Arc<Context<K>>) -> Result<Action, kube::Error>
where
    K::DynamicType: Eq + Hash + Clone,
{
    let args = &context.args;
    let n = context.seen.fetch_add(1, Ordering::Relaxed) + 1;
    if n == 1 {
        say("synced", json!({}));
    }
    let _ = std::hint::black_box((object.name_any(), object.resource_version(), object.uid()));
    if n == args.count {
        say("all_reconciled", json!({"reconciles": n}));
        if args.case == "list" {
            measure_lists(&context);
        }
    }
    let (revision, seen) = object.revisions();
    if args.case == "churn" && revision == SENTINEL {
        say("sentinel", json!({"reconciles": n - args.count}));
    }
    if revision != seen && (args.case == "latency" || (args.case == "churn" && revision == SENTINEL)) {
        let api = K::api(&context.client, &object.namespace().unwrap_or_default(), &context.dyntype);
        let patch = Patch::Merge(json!({"status": {"observedRevision": revision}}));
        api.patch_status(&object.name_any(), &PatchParams::default(), &patch).await?;
    }
    Ok(Action::await_change())
}

async fn run<K: Kind>(client: Client, api: Api<K>, args: Args, dyntype: K::DynamicType)
where
    K::DynamicType: Eq + Hash + Clone + std::fmt::Debug + Unpin + Send + Sync,
{
    let writer = Writer::<K>::new(dyntype.clone());
    let reader = writer.as_reader();
    let mut config = watcher::Config::default();
    if args.watch_list {
        config = config.streaming_lists();
    }
    let keep = args.keep_managed_fields;
    let stream = watcher(api, config)
        .default_backoff()
        .modify(move |object| {
            if !keep {
                object.managed_fields_mut().clear();
            }
        })
        .reflect(writer)
        .applied_objects();
    let concurrency = args.workers;
    let context = Context { client, args, seen: AtomicI64::new(0), reader: reader.clone(), dyntype: dyntype.clone() };
    Controller::for_stream_with(stream, reader, dyntype)
        .with_config(ControllerConfig::default().concurrency(concurrency))
        .shutdown_on_signal()
        .run(
            reconcile,
            |_, error: &kube::Error, _| {
                eprintln!("{error}");
                Action::requeue(std::time::Duration::from_millis(5))
            },
            Arc::new(context),
        )
        .for_each(|_| std::future::ready(()))
        .await;
}

async fn connect(args: &Args) -> anyhow::Result<Client> {
    let mut cluster = json!({"server": args.server});
    if let Some(ca) = &args.ca {
        cluster["certificate-authority"] = ca.as_str().into();
    }
    let kubeconfig: Kubeconfig = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": cluster}],
        "users": [{"name": "bench", "user": {}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
    }))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse()?;
    let client = connect(&args).await?;
    match (args.kind.as_str(), args.variant.as_str()) {
        ("pods", "typed") => {
            run::<k8s_openapi::api::core::v1::Pod>(client.clone(), Api::all(client), args, ()).await;
        }
        ("websites", "typed") => run::<Website>(client.clone(), Api::all(client), args, ()).await,
        ("pods" | "websites", "dynamic") => {
            let gvk = if args.kind == "pods" {
                GroupVersionKind::gvk("", "v1", "Pod")
            } else {
                GroupVersionKind::gvk("example.com", "v1", "Website")
            };
            let resource = ApiResource::from_gvk(&gvk);
            run::<DynamicObject>(client.clone(), Api::all_with(client, &resource), args, resource).await;
        }
        (kind, variant) => anyhow::bail!("no kind {kind:?} as {variant:?}"),
    }
    Ok(())
}
