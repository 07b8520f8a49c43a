package supervisor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type answer struct {
	code     int
	body     string
	protocol int
}

type fixture struct {
	*testing.T
	*Supervisor
	client *http.Client
	url    string
	ca     string
}

// start runs a supervisor whose one certificate is listener's, authority's and client's.
func start(t *testing.T) *fixture {
	folder := t.TempDir()
	certificate, key := filepath.Join(folder, "c.crt"), filepath.Join(folder, "c.key")
	pair := write(t, certificate, key)
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := probe.Addr().(*net.TCPAddr).Port
	probe.Close()
	supervisor, err := Start(port, Files{certificate, key, certificate, certificate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(supervisor.Close)
	pool := x509.NewCertPool()
	pool.AddCert(pair.Leaf)
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}}
	ca, _ := os.ReadFile(certificate)
	return &fixture{t, supervisor, &http.Client{Transport: transport}, fmt.Sprintf("https://127.0.0.1:%d", port), string(ca)}
}

func write(t *testing.T, certificate, key string) tls.Certificate {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func (f *fixture) get(path string, credentials ...string) answer {
	f.Helper()
	request, err := http.NewRequest(http.MethodGet, f.url+path, nil)
	if err != nil {
		f.Fatal(err)
	}
	if len(credentials) == 2 {
		request.SetBasicAuth(credentials[0], credentials[1])
	}
	response, err := f.client.Do(request)
	if err != nil {
		f.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		f.Fatal(err)
	}
	return answer{response.StatusCode, string(body), response.ProtoMajor}
}

// refuses checks that the answer is a Status in JSON.
func (f *fixture) refuses(got answer, code int, message string) {
	f.Helper()
	var body metav1.Status
	if err := json.Unmarshal([]byte(got.body), &body); err != nil {
		f.Fatalf("%q: %v", got.body, err)
	}
	if got.code != code || body.Kind != "Status" || body.Code != int32(code) || (message != "" && body.Message != message) {
		f.Errorf("want %d %q, got %d %+v", code, message, got.code, body)
	}
}

func TestTheAnswersFollowTheStart(t *testing.T) {
	f := start(t)
	for _, path := range []string{"/readyz", "/ping", "/cacerts", "/v1-k3s/readyz", "/"} {
		f.refuses(f.get(path), 503, "starting")
	}
	f.Open("secret")
	f.refuses(f.get("/readyz"), 503, "apiserver not ready")
	f.refuses(f.get("/v1-k3s/readyz", "node", "secret"), 503, "apiserver not ready")
	f.Mount(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		fmt.Fprintf(response, "%s from a client with %d certificates", request.URL.Path, len(request.TLS.PeerCertificates))
	}))
	if got := f.get("/version"); got.code != 200 || got.body != "/version from a client with 1 certificates" || got.protocol != 2 {
		t.Errorf("got %+v", got)
	}
	if got := f.get("/v1-k3s/readyz", "node", "secret"); got.code != 200 {
		t.Errorf("got %+v", got)
	}
}

func TestPingAndTheAuthorityAreOpen(t *testing.T) {
	f := start(t)
	f.Open("secret")
	if got := f.get("/ping"); got.code != 200 || got.body != "pong" {
		t.Errorf("got %+v", got)
	}
	if got := f.get("/cacerts"); got.code != 200 || got.body != f.ca {
		t.Errorf("got %+v", got)
	}
}

func TestWhatAgentsAskForNeedsTheToken(t *testing.T) {
	f := start(t)
	f.Open("secret")
	f.refuses(f.get("/v1-k3s/client-ca.crt"), 403, "")
	for _, credentials := range [][]string{{"node", "wrong"}, {"node", ""}, {"server", "secret "}, {"admin", "secret"}} {
		f.refuses(f.get("/v1-k3s/client-ca.crt", credentials...), 401, "")
	}
	for _, user := range []string{"node", "server"} {
		if got := f.get("/v1-k3s/client-ca.crt", user, "secret"); got.code != 200 || got.body != f.ca {
			t.Errorf("got %+v", got)
		}
	}
	if got := f.get("/v1-k3s/server-ca.crt", "server", "secret"); got.code != 200 || got.body != f.ca {
		t.Errorf("got %+v", got)
	}
	f.refuses(f.get("/v1-k3s/config", "server", "secret"), 501, "")
}

func TestAPortThatIsTakenIsAnError(t *testing.T) {
	f := start(t)
	var port int
	if _, err := fmt.Sscanf(f.url, "https://127.0.0.1:%d", &port); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	certificate, key := filepath.Join(folder, "c.crt"), filepath.Join(folder, "c.key")
	write(t, certificate, key)
	if _, err := Start(port, Files{certificate, key, certificate, certificate}); err == nil {
		t.Error("must fail")
	}
}
