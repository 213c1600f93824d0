package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func gvk() schema.GroupVersionKind {
	if *kind == "pods" {
		return corev1.SchemeGroupVersion.WithKind("Pod")
	}
	return groupVersion.WithKind("Website")
}

func newObject() client.Object {
	switch {
	case *variant == "unstructured":
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk())
		return u
	case *variant == "metadata":
		p := &metav1.PartialObjectMetadata{}
		p.SetGroupVersionKind(gvk())
		return p
	case *kind == "pods":
		return &corev1.Pod{}
	}
	return &Website{}
}

func forObject(m manager.Manager) *builder.Builder {
	b := ctrl.NewControllerManagedBy(m).Named("bench").
		WithOptions(controller.Options{MaxConcurrentReconciles: *workers})
	if *variant == "metadata" {
		return b.For(newObject(), builder.OnlyMetadata)
	}
	return b.For(newObject())
}

// What changes in an object, and what the controller has answered.
func revisions(object client.Object) (revision, seen int64) {
	switch o := object.(type) {
	case *Website:
		return o.Spec.Revision, o.Status.ObservedRevision
	case *unstructured.Unstructured:
		revision, _, _ = unstructured.NestedInt64(o.Object, "spec", "revision")
		seen, _, _ = unstructured.NestedInt64(o.Object, "status", "observedRevision")
	}
	return revision, seen
}

func patchStatus(ctx context.Context, c client.Client, object client.Object, revision int64) error {
	base := object.DeepCopyObject().(client.Object)
	switch o := object.(type) {
	case *Website:
		o.Status.ObservedRevision = revision
	case *unstructured.Unstructured:
		if err := unstructured.SetNestedField(o.Object, revision, "status", "observedRevision"); err != nil {
			return err
		}
	}
	return c.Status().Patch(ctx, object, client.MergeFrom(base))
}

func setupOne(m manager.Manager) error {
	c := m.GetClient()
	var seen counter
	return forObject(m).Complete(reconcile.Func(
		func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			object := newObject()
			err := c.Get(ctx, request.NamespacedName, object)
			n := seen.add(nil)
			if err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			_, _, _ = object.GetName(), object.GetResourceVersion(), object.GetUID()
			if *benchCase == "sync" {
				return reconcile.Result{}, nil
			}
			revision, answered := revisions(object)
			if *benchCase == "churn" && revision == sentinel {
				say("sentinel", map[string]any{"reconciles": n - *count})
			}
			if revision != answered && (*benchCase == "latency" || revision == sentinel) {
				return reconcile.Result{}, patchStatus(ctx, c, object, revision)
			}
			return reconcile.Result{}, nil
		}))
}

// ---- reconcile: a parent with its children, nothing to write ----

func desired(site *Website, number string) *Page {
	return &Page{
		ObjectMeta: metav1.ObjectMeta{
			Name: site.Name + "-" + number, Namespace: site.Namespace,
			Labels: map[string]string{
				"app.kubernetes.io/managed-by": "perilune", "site": site.Name,
			},
		},
		Spec: PageSpec{Domain: site.Spec.Domain, Path: "/" + number, Replicas: site.Spec.Replicas},
	}
}

func differs(page, wanted *Page) bool {
	return !maps.Equal(page.Labels, wanted.Labels) || page.Spec.Domain != wanted.Spec.Domain ||
		page.Spec.Path != wanted.Spec.Path || page.Spec.Replicas != wanted.Spec.Replicas
}

func setupChildren(ctx context.Context, m manager.Manager) error {
	c := m.GetClient()
	err := m.GetFieldIndexer().IndexField(ctx, &Page{}, "owner", func(o client.Object) []string {
		if owner := metav1.GetControllerOf(o); owner != nil {
			return []string{string(owner.UID)}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var seen counter
	return forObject(m).Owns(&Page{}).Complete(reconcile.Func(
		func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			site, pages := &Website{}, &PageList{}
			if err := c.Get(ctx, request.NamespacedName, site); err != nil {
				return reconcile.Result{}, err
			}
			if err := c.List(ctx, pages, client.InNamespace(request.Namespace),
				client.MatchingFields{"owner": string(site.UID)}); err != nil {
				return reconcile.Result{}, err
			}
			if len(pages.Items) != 3 {
				return reconcile.Result{}, fmt.Errorf("%s has %d pages", request, len(pages.Items))
			}
			for i := range pages.Items {
				page := &pages.Items[i]
				if differs(page, desired(site, page.Spec.Path[1:])) {
					return reconcile.Result{}, fmt.Errorf("%s: a page is not as it should be", request)
				}
			}
			seen.add(nil)
			return reconcile.Result{}, nil
		}))
}

// ---- list: a tenth of all pods ----

func touch(pod *corev1.Pod) bool {
	return pod.Name != "" && pod.Namespace != "" && pod.Status.Phase != ""
}

func measure(ctx context.Context, c client.Client, name string, options ...client.ListOption) {
	start := time.Now()
	pods, n := &corev1.PodList{}, 0
	must(c.List(ctx, pods, options...))
	for i := range pods.Items {
		if touch(&pods.Items[i]) {
			n++
		}
	}
	say(name, map[string]any{"objects": n, "seconds": time.Since(start).Seconds()})
}

func setupList(ctx context.Context, m manager.Manager) error {
	c := m.GetClient()
	err := m.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, "tenth", func(o client.Object) []string {
		return []string{o.GetLabels()["tenth"]}
	})
	if err != nil {
		return err
	}
	var seen counter
	return forObject(m).Complete(reconcile.Func(
		func(_ context.Context, _ reconcile.Request) (reconcile.Result, error) {
			seen.add(func() {
				label, index := client.MatchingLabels{"tenth": "3"}, client.MatchingFields{"tenth": "3"}
				for range *rounds {
					measure(ctx, c, "label_whole", label)
					measure(ctx, c, "label_shared", label, client.UnsafeDisableDeepCopy)
					measure(ctx, c, "index_whole", index)
					measure(ctx, c, "index_shared", index, client.UnsafeDisableDeepCopy)
				}
				say("listed", nil)
			})
			return reconcile.Result{}, nil
		}))
}
