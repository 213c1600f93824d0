// One controller on controller-runtime for each case of scripts/bench/run. Tuned as its documentation
// advises: no client-side rate limit, managed fields stripped before the cache, metrics off.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const sentinel = 1999999999

var (
	address    = flag.String("server", "", "URL of the API server")
	ca         = flag.String("ca", "", "file with its CA, for https")
	benchCase  = flag.String("case", "sync", "sync, churn, latency, reconcile, list, queue or webhook")
	kind       = flag.String("kind", "websites", "pods or websites")
	variant    = flag.String("variant", "typed", "typed, protobuf (typed, asking for it), unstructured or metadata")
	workers    = flag.Int("workers", 1, "MaxConcurrentReconciles")
	count      = flag.Int64("count", 0, "objects of the kind")
	rounds     = flag.Int("rounds", 1, "of the list case")
	port       = flag.Int("port", 0, "of the webhook case")
	certDir    = flag.String("cert-dir", "", "of the webhook case: tls.crt and tls.key")
	keepFields = flag.Bool("keep-managed-fields", false, "as shipped: no transform")
)

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

// Counts reconciles; the first and the last of the initial ones are milestones.
type counter struct{ seen atomic.Int64 }

func (c *counter) add(done func()) int64 {
	n := c.seen.Add(1)
	if n == 1 {
		say("first_reconcile", nil)
	}
	if n == *count {
		say("all_reconciled", map[string]any{"reconciles": n})
		if done != nil {
			go done()
		}
	}
	return n
}

// Pods are protobuf by default, which is a variant of its own here; custom resources are JSON.
func content() rest.ContentConfig {
	const json, protobuf = "application/json", "application/vnd.kubernetes.protobuf"
	if *variant == "protobuf" {
		return rest.ContentConfig{ContentType: protobuf, AcceptContentTypes: protobuf + "," + json}
	}
	return rest.ContentConfig{ContentType: json, AcceptContentTypes: json}
}

func newManager() manager.Manager {
	scheme := runtime.NewScheme()
	must(corev1.AddToScheme(scheme))
	must(addToScheme(scheme))
	config := &rest.Config{
		Host:            *address,
		QPS:             -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: *ca},
		ContentConfig:   content(),
	}
	options := ctrl.Options{
		Scheme:                 scheme,
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Client:                 client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	}
	if !*keepFields {
		options.Cache = cache.Options{DefaultTransform: cache.TransformStripManagedFields()}
	}
	if *benchCase == "webhook" {
		options.WebhookServer = webhookServer()
	}
	m, err := ctrl.NewManager(config, options)
	must(err)
	return m
}

func main() {
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	if *benchCase == "queue" {
		measureQueue()
		return
	}
	ctx := ctrl.SetupSignalHandler()
	m := newManager()
	must(setup(ctx, m))
	if *benchCase == "webhook" {
		must(m.Start(ctx))
		return
	}
	go func() {
		// The first only says that the cache runs; the second waits for the kind.
		m.GetCache().WaitForCacheSync(ctx)
		if _, err := m.GetCache().GetInformer(ctx, newObject()); err == nil {
			say("synced", nil)
		}
	}()
	must(m.Start(ctx))
}

func setup(ctx context.Context, m manager.Manager) error {
	switch *benchCase {
	case "sync", "churn", "latency":
		return setupOne(m)
	case "reconcile":
		return setupChildren(ctx, m)
	case "list":
		return setupList(ctx, m)
	case "webhook":
		return setupWebhook(m)
	}
	return fmt.Errorf("no case %q", *benchCase)
}
