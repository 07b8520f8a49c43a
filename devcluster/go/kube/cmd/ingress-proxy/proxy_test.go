package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func served(t *testing.T, hosts map[string][]Path) (*handler, *httptest.Server) {
	t.Helper()
	h := &handler{errors: log.New(io.Discard, "", 0)}
	tell(t, h, hosts)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return h, server
}

func tell(t *testing.T, h *handler, hosts map[string][]Path) {
	t.Helper()
	fresh, err := newTable(Config{Hosts: hosts})
	if err != nil {
		t.Fatal(err)
	}
	h.table.Store(fresh)
}

func pod(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func ask(t *testing.T, server *httptest.Server, method, host, path string, body io.Reader) (int, string) {
	t.Helper()
	request, _ := http.NewRequest(method, server.URL+path, body)
	request.Host = host
	answer, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

func TestWhichPathAnswers(t *testing.T) {
	named := func(name, path string, exact bool) Path { return Path{Path: path, Exact: exact, Service: name} }
	found, _ := newTable(Config{Hosts: map[string][]Path{
		"a.example.com": {named("exact", "/x", true), named("deep", "/x/y", false), named("x", "/x", false)},
		"*.example.com": {named("wild", "/", false)},
		"":              {named("any", "/", false)},
	}})
	for _, row := range []struct{ host, path, service string }{
		{"A.example.com:8080", "/x", "exact"},
		{"a.example.com", "/x/", "x"},
		{"a.example.com", "/x/y/z", "deep"},
		{"a.example.com", "/xy", ""},
		{"a.example.com", "/X", ""},
		{"b.example.com", "/xy", "wild"},
		{"c.b.example.com", "/", "any"},
		{"", "/", "any"},
	} {
		service := ""
		if path := found.path(hostOf(row.host), row.path); path != nil {
			service = path.Service
		}
		if service != row.service {
			t.Errorf("%s%s is answered by %q, not %q", row.host, row.path, service, row.service)
		}
	}
}

func TestARequestGoesOnAsItCame(t *testing.T) {
	endpoint := pod(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		said := []string{r.Method, r.Host, r.RequestURI, string(body)}
		for _, name := range []string{"Proto", "Host", "For"} {
			said = append(said, r.Header.Get("X-Forwarded-"+name))
		}
		io.WriteString(w, strings.Join(said, " "))
	})
	_, server := served(t, map[string][]Path{"a.b": {{Path: "/", Endpoints: []string{endpoint}}}})
	if _, text := ask(t, server, "POST", "a.b", "/p%2Fq?x=;1", strings.NewReader("body")); text != "POST a.b /p%2Fq?x=;1 body http a.b 127.0.0.1" {
		t.Error(text)
	}
}

func TestAnEndpointMaySpeakHTTPS(t *testing.T) {
	endpoint := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) }))
	t.Cleanup(endpoint.Close)
	paths := []Path{{Path: "/", Endpoints: []string{endpoint.Listener.Addr().String()}, Secure: true}}
	_, server := served(t, map[string][]Path{"a.b": paths})
	if status, text := ask(t, server, "GET", "a.b", "/", nil); status != 200 || text != "a.b" {
		t.Error(status, text)
	}
}

func TestAnEndpointThatIsGoneIsPassedOver(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	endpoint := pod(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	_, server := served(t, map[string][]Path{"a.b": {{Path: "/", Endpoints: []string{gone.Listener.Addr().String(), endpoint}}}})
	for range 20 {
		if status, text := ask(t, server, "POST", "a.b", "/", strings.NewReader("whole")); status != 200 || text != "whole" {
			t.Fatal(status, text)
		}
	}
}

func TestWhatServesNobody(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	_, server := served(t, map[string][]Path{"none.b": {{Path: "/"}}, "gone.b": {{Path: "/", Endpoints: []string{gone.Listener.Addr().String()}}}})
	for host, wanted := range map[string]int{"other.b": 404, "none.b": 503, "gone.b": 502} {
		if status, text := ask(t, server, "GET", host, "/", nil); status != wanted {
			t.Error(host, status, text)
		}
	}
}

func TestAnUpgradedConnectionOutlivesItsHost(t *testing.T) {
	endpoint := pod(t, func(w http.ResponseWriter, r *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		io.Copy(conn, conn)
	})
	h, server := served(t, map[string][]Path{"a.b": {{Path: "/", Endpoints: []string{endpoint}}}})
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a.b\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	reader := bufio.NewReader(conn)
	if answer, err := http.ReadResponse(reader, nil); err != nil || answer.StatusCode != 101 {
		t.Fatal(answer, err)
	}
	tell(t, h, nil)
	if status, _ := ask(t, server, "GET", "a.b", "/", nil); status != 404 {
		t.Error("the host is still there")
	}
	io.WriteString(conn, "still here\n")
	if line, err := reader.ReadString('\n'); line != "still here\n" {
		t.Error(line, err)
	}
}

func TestOnlyHostsWithACertificateAreServedByTLS(t *testing.T) {
	found, err := newTable(Config{Certificates: []Certificate{pair(t, "*.example.com"), pair(t, "a.example.com")}})
	if err != nil {
		t.Fatal(err)
	}
	for host, wanted := range map[string]string{"a.example.com": "a.example.com", "B.example.com": "*.example.com", "example.com": "", "": ""} {
		name := ""
		if certificate, err := found.certificate(&tls.ClientHelloInfo{ServerName: host}); err == nil {
			name = certificate.Leaf.DNSNames[0]
		}
		if name != wanted {
			t.Errorf("%s gets the certificate of %q, not %q", host, name, wanted)
		}
	}
	h := &handler{}
	h.table.Store(found)
	request := httptest.NewRequest("GET", "https://b.example.com/", nil)
	request.TLS.ServerName = "a.example.com"
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, request)
	if answer.Code != http.StatusMisdirectedRequest {
		t.Error(answer.Code)
	}
}

func pair(t *testing.T, host string) Certificate {
	t.Helper()
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	wanted := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{host}}
	chain, err := x509.CreateCertificate(rand.Reader, wanted, wanted, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, _ := x509.MarshalPKCS8PrivateKey(key)
	text := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	return Certificate{Hosts: []string{host}, Chain: text("CERTIFICATE", chain), Key: text("PRIVATE KEY", der)}
}
