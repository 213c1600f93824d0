// What Kubernetes publishes of its kinds, as the text table host/gotype/kinds.txt: fields with their
// types and protobuf numbers from the Go types, required fields, enums, defaults and list types from
// the OpenAPI documents, names and verbs from the discovery document, columns from the printers.
// No descriptions and no code go into it.
//
//	schemas FOLDER-OF-THE-MODULE-k8s.io/kubernetes VERSION >kinds.txt
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
	definitions "k8s.io/kubernetes/pkg/generated/openapi"
	printers "k8s.io/kubernetes/pkg/printers/internalversion"
)

type property struct {
	Type         string
	Format       string
	Default      json.RawMessage
	Enum         []string
	Items        *property
	Additional   *property `json:"additionalProperties"`
	ListType     string    `json:"x-kubernetes-list-type"`
	ListKeys     []string  `json:"x-kubernetes-list-map-keys"`
	MapType      string    `json:"x-kubernetes-map-type"`
	MergeKey     string    `json:"x-kubernetes-patch-merge-key"`
	Strategy     string    `json:"x-kubernetes-patch-strategy"`
	Properties   map[string]*property
	Required     []string
	AllOf, OneOf []json.RawMessage
}

type kindRef struct{ Group, Version, Kind string }

type resource struct {
	Resource, Scope string
	Singular        string   `json:"singularResource"`
	ShortNames      []string `json:"shortNames"`
	Categories      []string
	Verbs           []string
	Kind            kindRef `json:"responseKind"`
	Subresources    []struct {
		Subresource string
		Verbs       []string
		Kind        kindRef `json:"responseKind"`
	}
}

// Types whose JSON does not have the form of their fields.
var special = map[string]string{
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":         "time",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":    "microtime",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":     "duration",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":     "fields",
	"k8s.io/apimachinery/pkg/api/resource.Quantity":     "quantity",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString":   "intorstring",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":      "raw",
	apiextensionsPath + ".JSON":                         "json",
	apiextensionsPath + ".JSONSchemaPropsOrArray":       "schemaorarray",
	apiextensionsPath + ".JSONSchemaPropsOrBool":        "schemaorbool",
	apiextensionsPath + ".JSONSchemaPropsOrStringArray": "schemaorstrings",
}

const apiextensionsPath = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

var (
	out     = bufio.NewWriter(os.Stdout)
	openapi = map[string]*property{}
	seen    = map[string]reflect.Type{}
	columns = map[string][]meta.TableColumnDefinition{}
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(1)
	}
}

func goName(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

// io.k8s.api.core.v1.Pod
func openapiName(t reflect.Type) string {
	first, rest, _ := strings.Cut(t.PkgPath(), "/")
	parts := strings.Split(first, ".")
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return strings.Join(parts, ".") + "." + strings.ReplaceAll(rest, "/", ".") + "." + t.Name()
}

func scalar(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int32:
		return "int32"
	case reflect.Int64, reflect.Int:
		return "int64"
	case reflect.Float64:
		return "double"
	}
	check(fmt.Errorf("%v has no place in the table", t))
	return ""
}

// The type in the table's form, and the named Go type of its scalars ("" for none).
func spell(t reflect.Type, protobuf string) (string, string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	named := ""
	if t.PkgPath() != "" {
		named = t.String()
	}
	if s, ok := special[goName(t)]; ok {
		return s, named
	}
	switch t.Kind() {
	case reflect.Struct:
		walk(t)
		return openapiName(t), ""
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes", named
		}
		if t.PkgPath() != "" && strings.Contains(protobuf, ",opt,") {
			return "strings", named // a message of its own in protobuf
		}
		of, elem := spell(t.Elem(), "")
		return "[]" + of, elem
	case reflect.Map:
		of, elem := "", ""
		if e := t.Elem(); e.Kind() == reflect.Slice && e.Elem().Kind() == reflect.String {
			of, elem = "strings", e.String()
		} else {
			of, elem = spell(e, "")
		}
		if named != "" {
			elem = named // v1.ResourceList
		}
		return "map:" + of, elem
	}
	return scalar(t), named
}

func attribute(name, value string) {
	if value != "" {
		fmt.Fprintf(out, "\t%s=%s", name, value)
	}
}

// The schema without what v3 wraps around references and patterns of quantities.
func propertyOf(t reflect.Type, name string) *property {
	if of := openapi[openapiName(t)]; of != nil && of.Properties[name] != nil {
		return of.Properties[name]
	}
	return &property{}
}

func field(owner reflect.Type, f reflect.StructField, lines *[]string) {
	tag := strings.Split(f.Tag.Get("json"), ",")
	protobuf := f.Tag.Get("protobuf")
	name := tag[0]
	options := map[string]bool{}
	for _, o := range tag[1:] {
		options[o] = true
	}
	if name == "-" || f.Type == reflect.TypeOf(meta.TypeMeta{}) {
		return
	}
	number := "0"
	if parts := strings.Split(protobuf, ","); len(parts) > 1 {
		number = parts[1]
	}
	if inner := openapiName(f.Type); name == "" && openapi[inner] == nil {
		openapi[inner] = openapi[openapiName(owner)] // where its fields are documented
	}
	of, named := spell(f.Type, protobuf)
	var line strings.Builder
	if name == "" {
		fmt.Fprintf(&line, "I\t-\t%s\t%s", number, of)
		*lines = append(*lines, line.String())
		return
	}
	p := propertyOf(owner, name)
	flags := ""
	if options["omitempty"] || options["omitzero"] {
		flags += "o"
	}
	if options["omitzero"] {
		flags += "z"
	}
	if f.Type.Kind() == reflect.Pointer {
		flags += "p"
	}
	if parent := openapi[openapiName(owner)]; parent != nil {
		for _, r := range parent.Required {
			if r == name {
				flags += "r"
			}
		}
	}
	if p.MapType == "atomic" {
		flags += "a"
	}
	if flags == "" {
		flags = "-"
	}
	fmt.Fprintf(&line, "F\t%s\t%s\t%s\t%s", name, number, of, flags)
	add := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&line, "\t%s=%s", name, value)
		}
	}
	add("go", named)
	if p.ListType != "atomic" {
		add("list", p.ListType)
	} else {
		add("list", "atomic")
	}
	add("keys", strings.Join(p.ListKeys, ","))
	add("patch", f.Tag.Get("patchStrategy"))
	add("key", f.Tag.Get("patchMergeKey"))
	if d := string(p.Default); d != "" && d != "{}" && d != "null" {
		var v any
		check(json.Unmarshal(p.Default, &v))
		text, err := json.Marshal(v)
		check(err)
		// what the generator writes for required fields that have no default
		if !(text[0] == '"' && len(text) == 2 || string(text) == "0" || string(text) == "false") {
			add("default", string(text))
		}
	}
	enum := p.Enum
	if enum == nil && p.Items != nil {
		enum = p.Items.Enum
	}
	add("enum", strings.Join(enum, ","))
	*lines = append(*lines, line.String())
}

var blocks = map[string][]string{}

func walk(t reflect.Type) {
	name := openapiName(t)
	if seen[name] != nil {
		return
	}
	seen[name] = t
	flags := "-"
	if p := openapi[name]; p != nil && p.MapType == "atomic" {
		flags = "a"
	}
	if f, ok := t.FieldByName("TypeMeta"); ok && f.Anonymous {
		flags += "k"
	}
	lines := []string{fmt.Sprintf("T\t%s\t%s", name, strings.TrimPrefix(flags, "-"))}
	if strings.TrimPrefix(flags, "-") == "" {
		lines[0] = fmt.Sprintf("T\t%s\t-", name)
	}
	for i := 0; i < t.NumField(); i++ {
		field(t, t.Field(i), &lines)
	}
	blocks[name] = lines
}

// ---- what is read ----

type recorder struct{}

func (recorder) TableHandler(c []meta.TableColumnDefinition, f interface{}) error {
	t := reflect.TypeOf(f).In(0).Elem()
	if !strings.HasSuffix(t.Name(), "List") {
		columns[t.Name()] = c
	}
	return nil
}

func readOpenapi(folder string) {
	files, err := filepath.Glob(filepath.Join(folder, "api/openapi-spec/v3/*.json"))
	check(err)
	for _, file := range files {
		var doc struct {
			Components struct{ Schemas map[string]*property }
		}
		text, err := os.ReadFile(file)
		check(err)
		check(json.Unmarshal(text, &doc))
		for name, s := range doc.Components.Schemas {
			openapi[name] = s
		}
	}
}

// The documents have no enums; the definitions from which they are made have them.
func readEnums() {
	values := func(s spec.Schema) (out []string) {
		if s.Items != nil && s.Items.Schema != nil && len(s.Enum) == 0 {
			s = *s.Items.Schema
		}
		for _, v := range s.Enum {
			out = append(out, fmt.Sprint(v))
		}
		sort.Strings(out)
		return out
	}
	for name, d := range definitions.GetOpenAPIDefinitions(func(string) spec.Ref { return spec.Ref{} }) {
		for field, s := range d.Schema.Properties {
			if of := openapi[name]; of != nil && of.Properties[field] != nil {
				of.Properties[field].Enum = values(s)
			}
		}
	}
}

func readDiscovery(folder string) (groups []struct {
	Metadata struct{ Name string }
	Versions []struct {
		Version   string
		Resources []resource
	}
}) {
	text, err := os.ReadFile(filepath.Join(folder, "api/discovery/aggregated_v2.json"))
	check(err)
	var doc struct{ Items json.RawMessage }
	check(json.Unmarshal(text, &doc))
	check(json.Unmarshal(doc.Items, &groups))
	var core struct {
		Resources []struct {
			Name, Kind, Group, Version, SingularName string
			Namespaced                               bool
			ShortNames, Categories, Verbs            []string
		}
	}
	text, err = os.ReadFile(filepath.Join(folder, "api/discovery/api__v1.json"))
	check(err)
	check(json.Unmarshal(text, &core))
	g := groups[0]
	g.Metadata.Name = ""
	g.Versions = g.Versions[:0:0]
	var list []resource
	for _, r := range core.Resources {
		scope := "Cluster"
		if r.Namespaced {
			scope = "Namespaced"
		}
		name, sub, isSub := strings.Cut(r.Name, "/")
		if !isSub {
			list = append(list, resource{Resource: name, Scope: scope, Singular: r.SingularName,
				ShortNames: r.ShortNames, Categories: r.Categories, Verbs: r.Verbs,
				Kind: kindRef{r.Group, r.Version, r.Kind}})
			continue
		}
		for i := range list {
			if list[i].Resource == name {
				list[i].Subresources = append(list[i].Subresources, struct {
					Subresource string
					Verbs       []string
					Kind        kindRef `json:"responseKind"`
				}{sub, r.Verbs, kindRef{r.Group, r.Version, r.Kind}})
			}
		}
	}
	g.Versions = append(g.Versions, struct {
		Version   string
		Resources []resource
	}{"v1", list})
	return append(groups, g)
}

func kindLine(s *runtime.Scheme, group, version string, r resource) {
	gvk := schema.GroupVersionKind{Group: group, Version: version, Kind: r.Kind.Kind}
	t := s.AllKnownTypes()[gvk]
	if t == nil {
		check(fmt.Errorf("no Go type for %v", gvk))
	}
	walk(t)
	shown := group
	if shown == "" {
		shown = "-"
	}
	line := fmt.Sprintf("K\t%s\t%s\t%s\t%s\t%s\t%s", shown, version, r.Kind.Kind, r.Resource,
		r.Singular, openapiName(t))
	add := func(name string, values []string) {
		if len(values) > 0 {
			line += "\t" + name + "=" + strings.Join(values, ",")
		}
	}
	add("scope", []string{r.Scope})
	add("short", r.ShortNames)
	add("categories", r.Categories)
	sort.Strings(r.Verbs)
	add("verbs", r.Verbs)
	lines := []string{line}
	sort.Slice(r.Subresources, func(i, j int) bool {
		return r.Subresources[i].Subresource < r.Subresources[j].Subresource
	})
	for _, sub := range r.Subresources {
		g, v := sub.Kind.Group, sub.Kind.Version
		if v == "" {
			g, v = group, version
		}
		if st := s.AllKnownTypes()[schema.GroupVersionKind{Group: g, Version: v, Kind: sub.Kind.Kind}]; st != nil {
			walk(st)
		}
		if g == "" {
			g = "-"
		}
		sort.Strings(sub.Verbs)
		lines = append(lines, fmt.Sprintf("S\t%s\t%s\t%s\t%s\tverbs=%s", sub.Subresource, g, v,
			sub.Kind.Kind, strings.Join(sub.Verbs, ",")))
	}
	for _, c := range columns[r.Kind.Kind] {
		format := c.Format
		if format == "" {
			format = "-"
		}
		lines = append(lines, fmt.Sprintf("C\t%s\t%s\t%s\t%d", c.Name, c.Type, format, c.Priority))
	}
	blocks["kind "+shown+"/"+version+"/"+r.Resource] = lines
}

func write(prefix string) {
	var names []string
	for name := range blocks {
		if strings.HasPrefix(name, "kind ") == (prefix == "kind ") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintln(out, strings.Join(blocks[name], "\n"))
	}
}

func main() {
	if len(os.Args) != 3 {
		check(fmt.Errorf("usage: schemas FOLDER-OF-k8s.io/kubernetes VERSION"))
	}
	readOpenapi(os.Args[1])
	readEnums()
	printers.AddHandlers(recorder{})
	s := scheme.Scheme
	check(apiextensions.AddToScheme(s))
	check(apiregistration.AddToScheme(s))
	for _, g := range readDiscovery(os.Args[1]) {
		for _, v := range g.Versions {
			if strings.Contains(v.Version, "alpha") || strings.Contains(v.Version, "beta") {
				continue
			}
			for _, r := range v.Resources {
				kindLine(s, g.Metadata.Name, v.Version, r)
			}
		}
	}
	for _, of := range []any{meta.Status{}, meta.DeleteOptions{}, meta.CreateOptions{},
		meta.UpdateOptions{}, meta.PatchOptions{}, meta.ListMeta{}, meta.WatchEvent{},
		meta.PartialObjectMetadata{}, meta.APIResourceList{}, meta.APIGroupList{},
		meta.APIVersions{}, meta.APIGroup{}} {
		walk(reflect.TypeOf(of))
	}
	fmt.Fprintf(out, "kubernetes\t%s\n", os.Args[2])
	write("kind ")
	write("")
	check(out.Flush())
}
