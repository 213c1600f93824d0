package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

type Quantities struct {
	Limits   map[string]string `json:"limits,omitempty"`
	Requests map[string]string `json:"requests,omitempty"`
}

type TLS struct {
	Enabled bool   `json:"enabled"`
	Issuer  string `json:"issuer,omitempty"`
}

type WebsiteSpec struct {
	Revision  int64      `json:"revision"`
	Domain    string     `json:"domain"`
	Image     string     `json:"image"`
	Replicas  int32      `json:"replicas"`
	Resources Quantities `json:"resources"`
	TLS       TLS        `json:"tls"`
}

type WebsiteStatus struct {
	ObservedRevision   int64              `json:"observedRevision"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration"`
	ReadyReplicas      int32              `json:"readyReplicas"`
	URL                string             `json:"url"`
}

type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WebsiteSpec   `json:"spec"`
	Status            WebsiteStatus `json:"status,omitempty"`
}

type WebsiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Website `json:"items"`
}

type PageSpec struct {
	Revision int64  `json:"revision"`
	Domain   string `json:"domain"`
	Path     string `json:"path"`
	Replicas int32  `json:"replicas"`
}

type PageStatus struct {
	ObservedRevision int64 `json:"observedRevision"`
	Ready            bool  `json:"ready"`
}

type Page struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              PageSpec   `json:"spec"`
	Status            PageStatus `json:"status,omitempty"`
}

type PageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Page `json:"items"`
}

func copied(in map[string]string) map[string]string {
	if in == nil {
		return nil
	}
	out := make(map[string]string, len(in))
	for name, value := range in {
		out[name] = value
	}
	return out
}

func (in *Website) DeepCopy() *Website {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Resources.Limits = copied(in.Spec.Resources.Limits)
	out.Spec.Resources.Requests = copied(in.Spec.Resources.Requests)
	if in.Status.Conditions != nil {
		out.Status.Conditions = make([]metav1.Condition, len(in.Status.Conditions))
		for i := range in.Status.Conditions {
			in.Status.Conditions[i].DeepCopyInto(&out.Status.Conditions[i])
		}
	}
	return &out
}

func (in *Website) DeepCopyObject() runtime.Object { return in.DeepCopy() }

func (in *WebsiteList) DeepCopyObject() runtime.Object {
	out := *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Website, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopy()
	}
	return &out
}

func (in *Page) DeepCopy() *Page {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func (in *Page) DeepCopyObject() runtime.Object { return in.DeepCopy() }

func (in *PageList) DeepCopyObject() runtime.Object {
	out := *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Page, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopy()
	}
	return &out
}

func addToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(groupVersion, &Website{}, &WebsiteList{}, &Page{}, &PageList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return nil
}
