package standin

import (
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// layout is where K3s keeps things under its data directory.
type layout struct {
	server string
}

func (at layout) tls(name string) string  { return filepath.Join(at.server, "tls", name) }
func (at layout) cred(name string) string { return filepath.Join(at.server, "cred", name) }
func (at layout) database() string        { return filepath.Join(at.server, "db", "state.db") }
func (at layout) token() string           { return filepath.Join(at.server, "token") }

func (at layout) create() error {
	for _, folder := range []string{"tls/etcd", "cred", "db"} {
		if err := os.MkdirAll(filepath.Join(at.server, folder), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// publicServing is the certificate of K3s' port; the API server's own is `serving-kube-apiserver`.
const publicServing = "serving-k3s"

// ensurePKI reads or makes every CA and key by K3s' names, and writes the leaf certificates beside them.
func ensurePKI(at layout, options *Options) error {
	signers := map[string]*authority{}
	for name, commonName := range map[string]string{
		"client-ca":         "k3s-client-ca",
		"server-ca":         "k3s-server-ca",
		"request-header-ca": "k3s-request-header-ca",
		"etcd/server-ca":    "etcd-server-ca",
		"etcd/peer-ca":      "etcd-peer-ca",
	} {
		signer, err := loadOrCreateAuthority(at.tls(name), commonName)
		if err != nil {
			return err
		}
		signers[name] = signer
	}
	if err := ensureServiceKey(at.tls("service.key")); err != nil {
		return err
	}
	serving, err := servingLeaf(at, options)
	if err != nil {
		return err
	}
	public := serving
	public.path, public.commonName, public.organization = at.tls(publicServing), "k3s", []string{"k3s"}
	clients := signers["client-ca"]
	return errors.Join(
		signers["server-ca"].ensureLeaf(serving),
		signers["server-ca"].ensureLeaf(public),
		clients.ensureLeaf(clientLeaf(at, "client-admin", "system:admin", "system:masters")),
		clients.ensureLeaf(clientLeaf(at, "client-kube-apiserver", "system:apiserver", "system:masters")),
		clients.ensureLeaf(clientLeaf(at, "client-controller", "system:kube-controller-manager")),
		clients.ensureLeaf(clientLeaf(at, "client-supervisor", "system:k3s-supervisor", "system:masters")),
		signers["request-header-ca"].ensureLeaf(clientLeaf(at, "client-auth-proxy", "system:auth-proxy")),
	)
}

func clientLeaf(at layout, name, commonName string, organization ...string) leaf {
	return leaf{path: at.tls(name), commonName: commonName, organization: organization, usage: x509.ExtKeyUsageClientAuth}
}

// servingLeaf carries every name that a client may use: the Service's, the local ones, this machine's and --tls-san.
func servingLeaf(at layout, options *Options) (leaf, error) {
	serving := leaf{
		path:       at.tls("serving-kube-apiserver"),
		commonName: "kube-apiserver",
		usage:      x509.ExtKeyUsageServerAuth,
		names: []string{
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + options.ClusterDomain, "localhost",
		},
		addresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, network := range options.ServiceCIDRs {
		serving.addresses = append(serving.addresses, network.Addr().Next().AsSlice())
	}
	own, err := ownNames()
	if err != nil {
		return leaf{}, err
	}
	for _, name := range append(own, options.TLSSANs...) {
		if address := net.ParseIP(name); address != nil {
			serving.addresses = append(serving.addresses, address)
		} else {
			serving.names = append(serving.names, name)
		}
	}
	return serving, nil
}

// ownNames are the host name and addresses, which K3s always adds.
func ownNames() ([]string, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	names := []string{host}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.IsGlobalUnicast() {
			names = append(names, network.IP.String())
		}
	}
	return names, nil
}

// ensureServiceKey makes the key that signs service account tokens, unless a custom one is there.
func ensureServiceKey(path string) error {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = createKey(path)
		return err
	}
	if err != nil {
		return err
	}
	if _, err := parseKey(content); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// ensureToken returns the token, which is that of the first start: given then, or made. Another one later is refused, as K3s
// refuses it: the datastore's bootstrap data is encrypted with the first.
func ensureToken(at layout, token string) (string, error) {
	stored, err := os.ReadFile(at.token())
	switch {
	case err == nil && token != "" && token != string(stored):
		return "", errors.New("--token-file: bootstrap data already found and encrypted with different token")
	case err == nil:
		return string(stored), nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	case token == "":
		token = rand.Text()
	}
	return token, os.WriteFile(at.token(), []byte(token), 0o600)
}
