// Informers and a workqueue on client-go alone for each case of scripts/bench/run, as its workqueue
// example has them. No client-side rate limit, managed fields stripped before the cache.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const sentinel = 1999999999

var (
	address    = flag.String("server", "", "URL of the API server")
	ca         = flag.String("ca", "", "file with its CA, for https")
	benchCase  = flag.String("case", "sync", "sync, churn, latency or queue")
	kind       = flag.String("kind", "websites", "pods or websites")
	variant    = flag.String("variant", "unstructured", "typed (pods), protobuf (the same, asking for it), unstructured or metadata")
	workers    = flag.Int("workers", 1, "goroutines that take keys")
	count      = flag.Int64("count", 0, "objects of the kind")
	keepFields = flag.Bool("keep-managed-fields", false, "as shipped: no transform")
)

var resources = map[string]schema.GroupVersionResource{
	"pods":     {Version: "v1", Resource: "pods"},
	"websites": {Group: "example.com", Version: "v1", Resource: "websites"},
}

func say(milestone string, fields map[string]any) {
	if fields == nil {
		fields = map[string]any{}
	}
	fields["milestone"] = milestone
	line, _ := json.Marshal(fields)
	fmt.Println(string(line))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func strip(object any) (any, error) {
	if *keepFields {
		return object, nil
	}
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

func content() rest.ContentConfig {
	const json, protobuf = "application/json", "application/vnd.kubernetes.protobuf"
	if *variant == "protobuf" {
		return rest.ContentConfig{ContentType: protobuf, AcceptContentTypes: protobuf + "," + json}
	}
	return rest.ContentConfig{ContentType: json, AcceptContentTypes: json}
}

func newInformer(config *rest.Config) cache.SharedIndexInformer {
	gvr, ok := resources[*kind]
	if !ok {
		must(fmt.Errorf("no kind %q", *kind))
	}
	switch *variant {
	case "typed", "protobuf":
		if *kind != "pods" {
			must(fmt.Errorf("client-go has types for pods only"))
		}
		set, err := kubernetes.NewForConfig(config)
		must(err)
		return informers.NewSharedInformerFactory(set, 0).Core().V1().Pods().Informer()
	case "metadata":
		set, err := metadata.NewForConfig(config)
		must(err)
		return metadatainformer.NewSharedInformerFactory(set, 0).ForResource(gvr).Informer()
	}
	set, err := dynamic.NewForConfig(config)
	must(err)
	return dynamicinformer.NewDynamicSharedInformerFactory(set, 0).ForResource(gvr).Informer()
}

type worker struct {
	store  cache.Store
	client dynamic.Interface
	seen   atomic.Int64
}

func (w *worker) reconcile(ctx context.Context, key string) error {
	item, exists, err := w.store.GetByKey(key)
	n := w.seen.Add(1)
	if n == 1 {
		say("first_reconcile", nil)
	}
	if n == *count {
		say("all_reconciled", map[string]any{"reconciles": n})
	}
	if err != nil || !exists {
		return err
	}
	object, err := meta.Accessor(item)
	if err != nil {
		return err
	}
	_, _, _ = object.GetName(), object.GetResourceVersion(), object.GetUID()
	u, ok := item.(*unstructured.Unstructured)
	if *benchCase == "sync" || !ok {
		return nil
	}
	revision, _, _ := unstructured.NestedInt64(u.Object, "spec", "revision")
	seen, _, _ := unstructured.NestedInt64(u.Object, "status", "observedRevision")
	if *benchCase == "churn" && revision == sentinel {
		say("sentinel", map[string]any{"reconciles": n - *count})
	}
	if revision == seen || (*benchCase == "churn" && revision != sentinel) {
		return nil
	}
	patch := fmt.Appendf(nil, `{"status":{"observedRevision":%d}}`, revision)
	_, err = w.client.Resource(resources[*kind]).Namespace(u.GetNamespace()).
		Patch(ctx, u.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

func (w *worker) run(ctx context.Context, queue workqueue.TypedRateLimitingInterface[string]) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		if err := w.reconcile(ctx, key); err != nil {
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}

func main() {
	flag.Parse()
	if *benchCase == "queue" {
		measureQueue()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	config := &rest.Config{
		Host:            *address,
		QPS:             -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: *ca},
		ContentConfig:   content(),
	}
	client, err := dynamic.NewForConfig(config)
	must(err)
	informer := newInformer(config)
	must(informer.SetTransform(strip))
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	add := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			queue.Add(key)
		}
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, object any) { add(object) }, DeleteFunc: add,
	})
	must(err)
	go informer.Run(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return
	}
	say("synced", nil)
	w := &worker{store: informer.GetStore(), client: client}
	for range *workers {
		go w.run(ctx, queue)
	}
	<-ctx.Done()
	queue.ShutDown()
}
