// Command gotypes writes the internal Go types that kube-apiserver shows in messages, one field a line:
// the name in the message, the name in what clients send ("-": none, "^": one level above), the form, flags.
package main

import (
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/authorization"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/policy"
)

// The internal types that kube-apiserver shows in messages, and the published ones that clients send.
var shownTypes = [][2]any{
	{core.PodSpec{}, corev1.PodSpec{}},
	{core.PodTemplateSpec{}, corev1.PodTemplateSpec{}},
	{core.PersistentVolumeClaim{}, corev1.PersistentVolumeClaim{}},
	{core.EventSource{}, corev1.EventSource{}},
	{core.PersistentVolumeSource{}, corev1.PersistentVolumeSource{}},
	{apps.StatefulSetUpdateStrategy{}, appsv1.StatefulSetUpdateStrategy{}},
	{batch.PodFailurePolicy{}, batchv1.PodFailurePolicy{}},
	{batch.SuccessPolicy{}, batchv1.SuccessPolicy{}},
	{certificates.PodCertificateRequestSpec{}, certificatesv1.PodCertificateRequestSpec{}},
	{policy.PodDisruptionBudgetSpec{}, policyv1.PodDisruptionBudgetSpec{}},
	{authorization.SubjectAccessReviewSpec{}, authorizationv1.SubjectAccessReviewSpec{}},
	{authorization.SelfSubjectAccessReviewSpec{}, authorizationv1.SelfSubjectAccessReviewSpec{}},
}

var seen = map[string]bool{}
var blocks []string

// Fields of a Pod's security context that clients write beside it.
var above = map[string]string{"HostNetwork": "^hostNetwork", "HostPID": "^hostPID", "HostIPC": "^hostIPC",
	"ShareProcessNamespace": "^shareProcessNamespace", "HostUsers": "^hostUsers"}

func letter(t reflect.Type) string {
	switch t {
	case reflect.TypeOf(meta.Time{}), reflect.TypeOf(meta.MicroTime{}):
		return "t"
	case reflect.TypeOf(resource.Quantity{}):
		return "q"
	case reflect.TypeOf(intstr.IntOrString{}):
		return "i"
	}
	switch t.Kind() {
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "b"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64, reflect.Uint8:
		return "n"
	}
	return ""
}

// "@Type" of structs, a letter of scalars; before it "*" (pointer), "[" (list), "{" (map).
func form(t, public reflect.Type) string {
	if l := letter(t); l != "" {
		return l
	}
	if public != nil && public.Kind() == reflect.Pointer && t.Kind() != reflect.Pointer {
		public = public.Elem()
	}
	inner := public
	if public != nil && public.Kind() != reflect.Struct && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map) && public.Kind() == t.Kind() {
		inner = public.Elem()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + form(t.Elem(), inner)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "*s"
		}
		return "[" + form(t.Elem(), inner)
	case reflect.Map:
		return "{" + form(t.Elem(), inner)
	case reflect.Struct:
		describe(t, inner)
		return "@" + t.Name()
	}
	return "x"
}

func tag(f reflect.StructField) (string, string) {
	parts := strings.Split(f.Tag.Get("json"), ",")
	flags := ""
	for _, part := range parts[1:] {
		if part == "omitempty" {
			flags = "o"
		}
	}
	return parts[0], flags
}

func publicField(t reflect.Type, name string) (reflect.StructField, bool) {
	if t == nil || t.Kind() != reflect.Struct {
		return reflect.StructField{}, false
	}
	return t.FieldByName(name)
}

func fields(t, public reflect.Type, lines *[]string) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		key, flags := tag(f)
		if f.PkgPath != "" || key == "-" || f.Type == reflect.TypeOf(meta.TypeMeta{}) {
			continue
		}
		other, found := publicField(public, f.Name)
		if f.Anonymous && key == "" {
			if found {
				fields(f.Type, other.Type, lines)
			} else {
				fields(f.Type, public, lines)
			}
			continue
		}
		if key == "" {
			key = f.Name
		}
		from := "-"
		if found {
			if name, _ := tag(other); name != "" {
				from = name
			}
		} else if name, ok := above[f.Name]; ok && t.Name() == "PodSecurityContext" {
			from = name
		}
		var of reflect.Type
		if found {
			of = other.Type
		}
		if flags == "" {
			flags = "-"
		}
		*lines = append(*lines, fmt.Sprintf("%s %s %s %s", key, from, form(f.Type, of), flags))
	}
}

func describe(t, public reflect.Type) {
	if seen[t.Name()] {
		return
	}
	seen[t.Name()] = true
	lines := []string{}
	fields(t, public, &lines)
	blocks = append(blocks, "T "+t.Name()+"\n"+strings.Join(lines, "\n"))
}

func main() {
	for _, pair := range shownTypes {
		describe(reflect.TypeOf(pair[0]), reflect.TypeOf(pair[1]))
	}
	sort.Strings(blocks)
	out := strings.Builder{}
	for _, line := range strings.Split(strings.Join(blocks, "\n"), "\n") {
		fmt.Fprintf(&out, "\"%s\\n\"\n", line)
	}
	os.Stdout.WriteString(out.String())
}
