package fresh

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

var values = Values{
	ClusterDNS: "10.99.0.10", ClusterDomain: "nested.test", Hostname: "hello-k3s-0",
	Certificate: []byte("-----BEGIN\nC\n"), Key: []byte("-----BEGIN\nK\n"), Fingerprint: "ABCD",
}

func TestAnInventoryOfAFreshClusterIsK3s(t *testing.T) {
	objects, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]any{}
	for _, object := range objects {
		found[strings.Trim(object.GetKind()+"/"+object.GetNamespace()+"/"+object.GetName(), "/")] = object.Object
	}
	want := []string{
		"ClusterRole//system:k3s-controller", "ConfigMap/kube-system/cluster-dns", "Secret/kube-system/k3s-serving",
		"CustomResourceDefinition//addons.k3s.cattle.io", "CustomResourceDefinition//etcdsnapshotfiles.k3s.cattle.io",
		"Event/default/hello-k3s-0.certificates",
	}
	for _, name := range []string{"crun", "lunatic", "nvidia", "nvidia-experimental", "slight", "spin", "wasmedge", "wasmer", "wasmtime", "wws"} {
		want = append(want, "RuntimeClass//"+name)
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Fatalf("got %q", got)
	}
	if data := found["ConfigMap/kube-system/cluster-dns"]["data"].(map[string]any); data["clusterDNS"] != "10.99.0.10" || data["clusterDomain"] != "nested.test" {
		t.Errorf("got %v", data)
	}
	secret := found["Secret/kube-system/k3s-serving"]
	if data := secret["stringData"].(map[string]any); secret["type"] != "kubernetes.io/tls" || data["tls.key"] != string(values.Key) || data["tls.crt"] != string(values.Certificate) {
		t.Errorf("got %v", secret)
	}
}

func TestWithoutRuntimesThereAreNoClasses(t *testing.T) {
	without := values
	without.WithoutRuntimes = true
	objects, err := render(without)
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 6 {
		t.Errorf("got %d objects", len(objects))
	}
	for _, object := range objects {
		if object.GetKind() == "RuntimeClass" {
			t.Errorf("got %s", object.GetName())
		}
	}
}

func TestObjectsAreMadeOnceAndLeftAlone(t *testing.T) {
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	for range 2 {
		if err := Ensure(t.Context(), client, values); err != nil {
			t.Fatal(err)
		}
	}
	classes := schema.GroupVersionResource{Group: "node.k8s.io", Version: "v1", Resource: "runtimeclasses"}
	if _, err := client.Resource(classes).Get(t.Context(), "spin", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	maps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	if _, err := client.Resource(maps).Namespace("kube-system").Get(t.Context(), "cluster-dns", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestWhatCannotBeMadeIsTold(t *testing.T) {
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	client.PrependReactor("create", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "kube-system")
	})
	if err := Ensure(t.Context(), client, values); err == nil || !strings.Contains(err.Error(), `Secret "k3s-serving"`) {
		t.Errorf("got %v", err)
	}
}

func TestNodesCarryTheFinalizerUntilTheyAreDeleted(t *testing.T) {
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "old", Finalizers: []string{"other"}}})
	refused := false
	client.PrependReactor("update", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		first := !refused
		refused = true
		return first, nil, apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "old", nil)
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { HoldNodes(ctx, client); close(ended) }()
	defer func() { cancel(); <-ended }()
	watched, err := client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	nodes := client.CoreV1().Nodes()
	if _, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await := func(name string, wanted ...string) *corev1.Node {
		for event := range watched.ResultChan() {
			if node := event.Object.(*corev1.Node); node.Name == name && slices.Equal(node.Finalizers, wanted) {
				return node
			}
		}
		t.Fatal("the watch ended")
		return nil
	}
	held := await("new", NodeFinalizer).DeepCopy()
	if old, err := nodes.Get(t.Context(), "old", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	} else if !slices.Contains(old.Finalizers, NodeFinalizer) {
		await("old", "other", NodeFinalizer)
	}
	now := metav1.Now()
	held.DeletionTimestamp = &now
	held.Finalizers = append(held.Finalizers, "other")
	if _, err := nodes.Update(t.Context(), held, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await("new", "other")
}
