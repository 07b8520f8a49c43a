// Package fresh makes what K3s puts into every cluster besides Kubernetes' own objects.
package fresh

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"text/template"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

//go:embed objects.yaml
var manifest string

// Values are what differs between clusters.
type Values struct {
	ClusterDNS, ClusterDomain string
	Hostname                  string
	Certificate, Key          []byte // of K3s' listener, PEM
	Fingerprint               string // of that certificate, SHA-1 in hexadecimal
	WithoutRuntimes           bool   // --disable=runtimes
}

// Now is the time of the event.
func (Values) Now() string { return time.Now().UTC().Format(time.RFC3339) }

// RuntimeClasses are those that K3s has a manifest for, whether or not a node has the runtime.
func (Values) RuntimeClasses() []string {
	return []string{
		"crun", "lunatic", "nvidia", "nvidia-experimental", "slight", "spin", "wasmedge", "wasmer", "wasmtime", "wws",
	}
}

// Ensure creates the objects. Those that are there stay as they are.
func Ensure(ctx context.Context, client dynamic.Interface, values Values) error {
	objects, err := render(values)
	if err != nil {
		return err
	}
	var failures []error
	for _, object := range objects {
		resource, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(object.GetAPIVersion(), object.GetKind()))
		var target dynamic.ResourceInterface = client.Resource(resource)
		if namespace := object.GetNamespace(); namespace != "" {
			target = client.Resource(resource).Namespace(namespace)
		}
		if _, err := target.Create(ctx, object, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			failures = append(failures, fmt.Errorf("%s %q: %w", object.GetKind(), object.GetName(), err))
		}
	}
	return errors.Join(failures...)
}

func render(values Values) ([]*unstructured.Unstructured, error) {
	text, err := template.New("objects").Parse(manifest)
	if err != nil {
		return nil, err
	}
	var rendered bytes.Buffer
	if err := text.Execute(&rendered, values); err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for decoder := utilyaml.NewYAMLOrJSONDecoder(&rendered, 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}
