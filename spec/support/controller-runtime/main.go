// A controller with controller-runtime's default settings, like most operators. It tests whether
// such a program runs unchanged on an API server. It elects a leader, watches ConfigMaps and
// Deployments through the default cache (WatchList, protobuf), adds a finalizer, creates and
// applies objects that it owns, writes a status and Events, and cleans up. It exits with 0 when all
// of this has happened, with 1 and a reason otherwise.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const finalizer = "example.com/clean-up"

type reconciler struct {
	client.Client
	recorder events.EventRecorder
}

// Reconcile turns a ConfigMap with data.image into a Deployment and a Service.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	site := &corev1.ConfigMap{}
	if err := r.Get(ctx, request.NamespacedName, site); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if site.Data["image"] == "" {
		return reconcile.Result{}, nil
	}
	if !site.DeletionTimestamp.IsZero() {
		if controllerutil.RemoveFinalizer(site, finalizer) {
			return reconcile.Result{}, r.Update(ctx, site)
		}
		return reconcile.Result{}, nil
	}
	if controllerutil.AddFinalizer(site, finalizer) {
		if err := r.Update(ctx, site); err != nil {
			return reconcile.Result{}, err
		}
	}
	deployment, err := r.deployment(ctx, site)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.service(ctx, site); err != nil {
		return reconcile.Result{}, err
	}
	if site.Annotations["ready"] == "" && deployment.Status.ReadyReplicas > 0 {
		before := site.DeepCopy()
		metav1.SetMetaDataAnnotation(&site.ObjectMeta, "ready", "yes")
		if err := r.Patch(ctx, site, client.MergeFrom(before)); err != nil {
			return reconcile.Result{}, err
		}
		r.recorder.Eventf(site, deployment, corev1.EventTypeNormal, "Ready", "Deploy", "%s is ready", deployment.Name)
	}
	return reconcile.Result{}, nil
}

func (r *reconciler) deployment(ctx context.Context, site *corev1.ConfigMap) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		labels := map[string]string{"app": site.Name}
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		if len(deployment.Spec.Template.Spec.Containers) == 0 {
			deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web"}}
		}
		deployment.Spec.Template.Spec.Containers[0].Image = site.Data["image"]
		return controllerutil.SetControllerReference(site, deployment, r.Scheme())
	})
	return deployment, err
}

func (r *reconciler) service(ctx context.Context, site *corev1.ConfigMap) error {
	service := coreapply.Service(site.Name, site.Namespace).
		WithOwnerReferences(metaapply.OwnerReference().WithAPIVersion("v1").WithKind("ConfigMap").
			WithName(site.Name).WithUID(site.UID).WithController(true)).
		WithSpec(coreapply.ServiceSpec().WithSelector(map[string]string{"app": site.Name}).
			WithPorts(coreapply.ServicePort().WithPort(80)))
	return r.Apply(ctx, service, client.FieldOwner("site"), client.ForceOwnership)
}

func until(ctx context.Context, what string, test func(context.Context) (bool, error)) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 60*time.Second, true, test)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// drive acts as the user and as the cluster's own controllers, through separate clients.
func drive(ctx context.Context, mgr manager.Manager, plain kubernetes.Interface, ns string) error {
	direct, err := client.New(mgr.GetConfig(), client.Options{})
	if err != nil {
		return err
	}
	key := types.NamespacedName{Namespace: ns, Name: "blog"}
	site := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "blog"},
		Data:       map[string]string{"image": "nginx:1"},
	}
	if err := direct.Create(ctx, site); err != nil {
		return err
	}
	deployment, service := &appsv1.Deployment{}, &corev1.Service{}
	if err := until(ctx, "a Deployment and a Service", func(ctx context.Context) (bool, error) {
		err := errors.Join(direct.Get(ctx, key, deployment), direct.Get(ctx, key, service))
		return err == nil, client.IgnoreNotFound(errors.Join(notNotFound(err)...))
	}); err != nil {
		return err
	}
	if deployment.Spec.Replicas == nil || *deployment.Spec.Replicas != 1 || service.Spec.ClusterIP == "" {
		return fmt.Errorf("defaults are missing: %v, %v", deployment.Spec, service.Spec)
	}
	deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	if err := direct.Status().Update(ctx, deployment); err != nil {
		return err
	}
	if err := until(ctx, "an annotation", func(ctx context.Context) (bool, error) {
		err := direct.Get(ctx, key, site)
		return site.Annotations["ready"] == "yes", err
	}); err != nil {
		return err
	}
	if err := until(ctx, "an Event", func(ctx context.Context) (bool, error) {
		list, err := plain.EventsV1().Events(ns).List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) > 0 && list.Items[0].Note == "blog is ready", err
	}); err != nil {
		return err
	}
	return clients(ctx, mgr, direct, plain, key)
}

func notNotFound(err error) (left []error) {
	joined, is := err.(interface{ Unwrap() []error })
	if !is {
		return []error{err}
	}
	for _, one := range joined.Unwrap() {
		if !apierrors.IsNotFound(one) {
			left = append(left, one)
		}
	}
	return left
}

// clients uses calls that controllers need less often.
func clients(ctx context.Context, mgr manager.Manager, direct client.Client, plain kubernetes.Interface, key types.NamespacedName) error {
	scaled, err := plain.AppsV1().Deployments(key.Namespace).Apply(ctx,
		appsapply.Deployment(key.Name, key.Namespace).WithSpec(appsapply.DeploymentSpec().WithReplicas(3)),
		metav1.ApplyOptions{FieldManager: "scaler", Force: true})
	if err != nil || *scaled.Spec.Replicas != 3 {
		return fmt.Errorf("apply: %v, %w", scaled, err)
	}
	scale, err := plain.AppsV1().Deployments(key.Namespace).GetScale(ctx, key.Name, metav1.GetOptions{})
	if err != nil || scale.Spec.Replicas != 3 {
		return fmt.Errorf("scale: %v, %w", scale, err)
	}
	scale.Spec.Replicas = 2
	if _, err = plain.AppsV1().Deployments(key.Namespace).UpdateScale(ctx, key.Name, scale, metav1.UpdateOptions{}); err != nil {
		return err
	}
	bad := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "No Name"}}
	if err := direct.Create(ctx, bad); !apierrors.IsInvalid(err) {
		return fmt.Errorf("a bad name: %v", err)
	}
	partial := &metav1.PartialObjectMetadataList{}
	partial.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("DeploymentList"))
	if err := direct.List(ctx, partial, client.InNamespace(key.Namespace)); err != nil || len(partial.Items) != 1 {
		return fmt.Errorf("metadata: %v, %w", partial, err)
	}
	cached := &corev1.ServiceList{}
	if err := mgr.GetClient().List(ctx, cached, client.InNamespace(key.Namespace)); err != nil || len(cached.Items) != 1 {
		return fmt.Errorf("a cached list: %v, %w", cached, err)
	}
	site := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if err := direct.Delete(ctx, site); err != nil {
		return err
	}
	return until(ctx, "the end of the site", func(ctx context.Context) (bool, error) {
		err := direct.Get(ctx, key, site)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

func run(ctx context.Context, ns string) error {
	settings, err := config.GetConfig()
	if err != nil {
		return err
	}
	plain, err := kubernetes.NewForConfig(settings)
	if err != nil {
		return err
	}
	if _, err := plain.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	mgr, err := manager.New(settings, manager.Options{
		LeaderElection: true, LeaderElectionID: "site.example.com", LeaderElectionNamespace: ns,
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	r := &reconciler{mgr.GetClient(), mgr.GetEventRecorder("site")}
	if err := builder.ControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).Complete(r); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	if err := drive(ctx, mgr, plain, ns); err != nil {
		return err
	}
	lease, err := plain.CoordinationV1().Leases(ns).Get(ctx, "site.example.com", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return fmt.Errorf("nobody leads: %v, %w", lease, err)
	}
	cancel()
	return <-ended
}

func main() {
	log.SetLogger(zap.New())
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: KUBECONFIG=FILE controller-runtime NAMESPACE")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "controller-runtime:", err)
		os.Exit(1)
	}
	fmt.Println("all of it has happened")
}
