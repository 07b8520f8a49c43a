package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"strings"
)

// Config is what the Ingress controller sends.
type Config struct {
	// Hosts are full names, wildcards of one element ("*.example.com"), or "" for any host; their paths in the order to try.
	Hosts        map[string][]Path
	Certificates []Certificate
}

// Path is one path of a host, with the endpoints (ip:port) that serve it.
type Path struct {
	Path      string
	Exact     bool
	Service   string
	Endpoints []string
	Secure    bool // the endpoints speak HTTPS
}

// Certificate is a key pair as PEM text, and the hosts and wildcards that are served with it.
type Certificate struct {
	Hosts      []string
	Chain, Key string
}

type table struct {
	hosts        map[string][]Path
	certificates map[string]*tls.Certificate
}

func newTable(config Config) (*table, error) {
	found := &table{hosts: config.Hosts, certificates: map[string]*tls.Certificate{}}
	for _, item := range config.Certificates {
		pair, err := tls.X509KeyPair([]byte(item.Chain), []byte(item.Key))
		if err != nil {
			return nil, fmt.Errorf("certificate of %s: %w", strings.Join(item.Hosts, ", "), err)
		}
		for _, host := range item.Hosts {
			found.certificates[host] = &pair
		}
	}
	return found, nil
}

// certificate fails for a host that has none, and so does the handshake.
func (t *table) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if found, ok := byHost(t.certificates, strings.ToLower(hello.ServerName)); ok {
		return found, nil
	}
	return nil, fmt.Errorf("no certificate for %q", hello.ServerName)
}

// path is the first of a host's paths that fits; nil when there is none, whatever other hosts have.
func (t *table) path(host, path string) *Path {
	paths, ok := byHost(t.hosts, host)
	if !ok {
		paths = t.hosts[""]
	}
	for i := range paths {
		if paths[i].fits(path) {
			return &paths[i]
		}
	}
	return nil
}

// fits tells whether a path has all elements of this one: "/a" fits "/a" and "/a/b", never "/ab".
func (p *Path) fits(path string) bool {
	rest, found := strings.CutPrefix(path, strings.TrimSuffix(p.Path, "/"))
	if p.Exact {
		return path == p.Path
	}
	return found && (rest == "" || rest[0] == '/')
}

// byHost finds a full name before a wildcard.
func byHost[T any](of map[string]T, host string) (T, bool) {
	found, ok := of[host]
	if _, parent, dotted := strings.Cut(host, "."); !ok && dotted {
		found, ok = of["*."+parent]
	}
	return found, ok && host != ""
}

// hostOf is a request's host without its port, in lower case.
func hostOf(name string) string {
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	return strings.ToLower(name)
}
