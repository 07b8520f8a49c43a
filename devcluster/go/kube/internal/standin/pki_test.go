package standin

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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

func TestServingCertificatesCoverEveryName(t *testing.T) {
	at, given := prepared(t)
	if err := ensurePKI(at, given); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{publicServing, "serving-kube-apiserver"} {
		t.Run(name, func(t *testing.T) { checkServing(t, at, name) })
	}
}

func checkServing(t *testing.T, at layout, leaf string) {
	serving := certificate(t, at.tls(leaf+".crt"))
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
		"client-supervisor":     {"system:k3s-supervisor", "system:masters"},
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
		if got, err := ensureToken(at, token); err != nil || got != "first" {
			t.Errorf("%q: %q, %v", token, got, err)
		}
	}
	if _, err := ensureToken(at, "second"); err == nil {
		t.Error("another token must be refused")
	}
}

func TestATokenIsMadeWhenNoneIsGiven(t *testing.T) {
	at, _ := prepared(t)
	made, err := ensureToken(at, "")
	if err != nil || len(made) < 20 {
		t.Fatalf("%q, %v", made, err)
	}
	if kept, err := ensureToken(at, ""); err != nil || kept != made {
		t.Errorf("%q, %v", kept, err)
	}
}

func TestLeavesAreRenewedAtStart120DaysBeforeTheirEnd(t *testing.T) {
	at, given := prepared(t)
	if err := ensurePKI(at, given); err != nil {
		t.Fatal(err)
	}
	signer, err := loadOrCreateAuthority(at.tls("client-ca"), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range []struct {
		left    time.Duration
		renewed bool
	}{{121 * 24 * time.Hour, false}, {119 * 24 * time.Hour, true}, {-time.Hour, true}} {
		sign(t, signer, at.tls("client-admin"), each.left)
		before := read(t, at.tls("client-admin.crt"))
		if err := ensurePKI(at, given); err != nil {
			t.Fatal(err)
		}
		if renewed := read(t, at.tls("client-admin.crt")) != before; renewed != each.renewed {
			t.Errorf("with %s left: renewed %t", each.left, renewed)
		}
	}
	if left := time.Until(certificate(t, at.tls("client-admin.crt")).NotAfter); left < 364*24*time.Hour {
		t.Errorf("a new leaf is good for a year, not %s", left)
	}
}

// sign replaces a leaf by one with so much life left.
func sign(t *testing.T, signer *authority, path string, left time.Duration) {
	t.Helper()
	key, err := createKey(path + ".key")
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: serialNumber(), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(left)}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.certificate, key.Public(), signer.key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
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
