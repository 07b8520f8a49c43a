package standin

import (
	"crypto/ecdsa"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func prepared(t *testing.T) (layout, *Options) {
	t.Helper()
	at := layout{filepath.Join(t.TempDir(), "server")}
	if err := at.create(); err != nil {
		t.Fatal(err)
	}
	got, err := options(t, "--tls-san=hello-k3s.ns.svc,203.0.113.7", "--service-cidr=10.99.0.0/16", "--cluster-domain=nested.test")
	if err != nil {
		t.Fatal(err)
	}
	return at, got
}

func certificate(t *testing.T, path string) *x509.Certificate {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parseCertificate(content)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestServingCertificateCoversEveryName(t *testing.T) {
	at, given := prepared(t)
	if err := ensurePKI(at, given); err != nil {
		t.Fatal(err)
	}
	serving := certificate(t, at.tls("serving-kube-apiserver.crt"))
	for _, name := range []string{
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.nested.test", "localhost",
		"127.0.0.1", "10.99.0.1", "hello-k3s.ns.svc", "203.0.113.7",
	} {
		if err := serving.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
	if err := serving.CheckSignatureFrom(certificate(t, at.tls("server-ca.crt"))); err != nil {
		t.Error(err)
	}
}

func TestClientCertificatesCarryK3sNames(t *testing.T) {
	at, given := prepared(t)
	if err := ensurePKI(at, given); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"client-kube-apiserver": {"system:apiserver", "system:masters"},
		"client-admin":          {"system:admin", "system:masters"},
		"client-controller":     {"system:kube-controller-manager"},
	} {
		subject := certificate(t, at.tls(name+".crt")).Subject
		if got := append([]string{subject.CommonName}, subject.Organization...); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	proxy := certificate(t, at.tls("client-auth-proxy.crt"))
	if err := proxy.CheckSignatureFrom(certificate(t, at.tls("request-header-ca.crt"))); err != nil {
		t.Error(err)
	}
}

func TestCustomCAsAreKeptAndLeavesFollowThem(t *testing.T) {
	at, given := prepared(t)
	if err := ensurePKI(at, given); err != nil {
		t.Fatal(err)
	}
	first := read(t, at.tls("client-admin.crt"))
	if err := ensurePKI(at, given); err != nil {
		t.Fatal(err)
	}
	if read(t, at.tls("client-admin.crt")) != first {
		t.Error("a restart must not replace good leaves")
	}
	if _, err := createAuthority(at.tls("client-ca"), "custom"); err != nil {
		t.Fatal(err)
	}
	custom := read(t, at.tls("client-ca.crt"))
	if err := ensurePKI(at, given); err != nil {
		t.Fatal(err)
	}
	if read(t, at.tls("client-ca.crt")) != custom {
		t.Error("a CA that is there must be kept")
	}
	if err := certificate(t, at.tls("client-admin.crt")).CheckSignatureFrom(certificate(t, at.tls("client-ca.crt"))); err != nil {
		t.Error("leaves must be signed anew by another CA: ", err)
	}
}

func TestANewNameReplacesTheServingCertificate(t *testing.T) {
	at, given := prepared(t)
	if err := ensurePKI(at, given); err != nil {
		t.Fatal(err)
	}
	given.TLSSANs = append(given.TLSSANs, "another.example")
	if err := ensurePKI(at, given); err != nil {
		t.Fatal(err)
	}
	if err := certificate(t, at.tls("serving-kube-apiserver.crt")).VerifyHostname("another.example"); err != nil {
		t.Error(err)
	}
}

func TestHalfOrMismatchedCAsAreRefused(t *testing.T) {
	at, given := prepared(t)
	if err := ensurePKI(at, given); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at.tls("client-ca.key"), []byte(read(t, at.tls("server-ca.key"))), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ensurePKI(at, given); err == nil || !strings.Contains(err.Error(), "must be the key of") {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(at.tls("client-ca.key")); err != nil {
		t.Fatal(err)
	}
	if err := ensurePKI(at, given); err == nil || !strings.Contains(err.Error(), "needs both") {
		t.Errorf("got %v", err)
	}
}

func TestTheServiceKeyIsKept(t *testing.T) {
	at, given := prepared(t)
	key, err := createKey(at.tls("service.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := ensurePKI(at, given); err != nil {
		t.Fatal(err)
	}
	kept, err := parseKey([]byte(read(t, at.tls("service.key"))))
	if err != nil || !kept.(*ecdsa.PrivateKey).Equal(key) {
		t.Errorf("got %v, %v", kept, err)
	}
}

func TestAnotherTokenIsRefused(t *testing.T) {
	at, _ := prepared(t)
	for _, token := range []string{"first", "first", ""} {
		if err := ensureToken(at, token); err != nil {
			t.Errorf("%q: %v", token, err)
		}
	}
	if err := ensureToken(at, "second"); err == nil {
		t.Error("another token must be refused")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
