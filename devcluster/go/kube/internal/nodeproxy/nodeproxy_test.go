package nodeproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/kubelet/client"
)

// kubelets answers for every node with its name as its address, but for those named missing.
type kubelets struct{ port string }

func (all kubelets) GetConnectionInfo(_ context.Context, node types.NodeName) (*client.ConnectionInfo, error) {
	if node == "missing" {
		return nil, errors.New("not found")
	}
	return &client.ConnectionInfo{Scheme: "http", Hostname: string(node), Port: all.port, Transport: named("kubelet")}, nil
}

// named is a transport that tells its name to the server.
type named string

func (name named) RoundTrip(req *http.Request) (*http.Response, error) {
	req.Header.Set("Transport", string(name))
	return http.DefaultTransport.RoundTrip(req)
}

func ask(t *testing.T, target, kubeletPort string) string {
	t.Helper()
	path, _, _ := strings.Cut(target, "?")
	parts := strings.Split(strings.TrimPrefix(path, "/api/v1/"), "/")
	info := &request.RequestInfo{IsResourceRequest: true, Resource: parts[0], Name: parts[1], Subresource: strings.Join(parts[2:min(3, len(parts))], "")}
	handler := &Handler{
		Next:      http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) { fmt.Fprint(response, "next") }),
		Kubelets:  kubelets{kubeletPort},
		Transport: named("other"),
	}
	recorder := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodGet, target, nil)
	handler.ServeHTTP(recorder, req.WithContext(request.WithRequestInfo(req.Context(), info)))
	body, err := io.ReadAll(recorder.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestNodesOnThisMachineAreReachedAtAnyPort(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, req *http.Request) {
		fmt.Fprintf(response, "%s by %s", req.URL, req.Header.Get("Transport"))
	}))
	defer server.Close()
	location, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(location.Host)
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"nodes/http:localhost:" + port + "/proxy/healthz?a=b": "/healthz?a=b by other",
		"nodes/127.0.0.1/proxy/pods/":                         "/pods/ by other",
	} {
		kubelet := "1"
		if strings.HasPrefix(target, "nodes/127") {
			kubelet, want = port, "/pods/ by kubelet"
		}
		if got := ask(t, "/api/v1/"+target, kubelet); got != want {
			t.Errorf("%s: got %q, want %q", target, got, want)
		}
	}
}

func TestAllElseIsTheAPIsOwn(t *testing.T) {
	for _, target := range []string{
		"nodes/localhost", "nodes/localhost/status", "pods/localhost/proxy", "nodes/203.0.113.7/proxy/", "nodes/missing/proxy/", "nodes/a:b:c:d/proxy/",
	} {
		if got := ask(t, "/api/v1/"+target, "10250"); got != "next" {
			t.Errorf("%s: got %q", target, got)
		}
	}
}

func TestAServerThatIsNotThereIsTold(t *testing.T) {
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(probe.Addr().String())
	probe.Close()
	if got := ask(t, "/api/v1/nodes/http:localhost:"+port+"/proxy/", "1"); !strings.Contains(got, `"kind":"Status"`) {
		t.Errorf("got %q", got)
	}
}
