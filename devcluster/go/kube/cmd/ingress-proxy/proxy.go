package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"time"
)

const (
	flush = 20 * time.Millisecond  // answers of known length arrive this late at most; those of unknown length are passed on at once
	tries = time.Second            // an endpoint that has just ended is still listed for a moment; another one may do
	pause = 100 * time.Millisecond // between two rounds over all endpoints
)

// handler answers by the table of the moment.
type handler struct {
	table  atomic.Pointer[table]
	errors *log.Logger
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host := hostOf(r.Host)
	if r.TLS != nil && strings.ToLower(r.TLS.ServerName) != host { // so that only hosts with a certificate are served by TLS
		http.Error(w, "421: this connection was made to another host.", http.StatusMisdirectedRequest)
		return
	}
	path := h.table.Load().path(host, r.URL.Path)
	switch {
	case path == nil:
		http.Error(w, "404: no Ingress of this cluster serves this host and path.", http.StatusNotFound)
	case len(path.Endpoints) == 0:
		http.Error(w, fmt.Sprintf("503: service %s has no ready endpoint.", path.Service), http.StatusServiceUnavailable)
	default:
		h.proxy(path).ServeHTTP(w, r)
	}
}

func (h *handler) proxy(path *Path) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetXForwarded()
			request.Out.URL.Scheme = "http"
			if path.Secure {
				request.Out.URL.Scheme = "https"
			}
			request.Out.URL.RawQuery = request.In.URL.RawQuery // whatever it is, it is the server's to read
		},
		Transport:     endpoints(path.Endpoints),
		FlushInterval: flush,
		ErrorLog:      h.errors,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			h.errors.Printf("%s: %v", path.Service, err)
			http.Error(w, fmt.Sprintf("502: service %s does not answer.", path.Service), http.StatusBadGateway)
		},
	}
}

// transport keeps connections to pods, whose certificates nobody knows. An answer passes as it is, compressed or not.
var transport = &http.Transport{
	DialContext:         (&net.Dialer{Timeout: 3 * time.Second}).DialContext,
	MaxIdleConnsPerHost: 32,
	IdleConnTimeout:     time.Minute,
	DisableCompression:  true,
	TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
}

// endpoints sends a request to one of them, by chance, and to another one where nobody listens.
type endpoints []string

func (e endpoints) RoundTrip(r *http.Request) (*http.Response, error) {
	deadline := time.Now().Add(tries)
	for {
		var last error
		for _, i := range rand.Perm(len(e)) {
			try := r.Clone(r.Context())
			try.URL.Host = e[i]
			if r.Body != nil {
				try.Body = io.NopCloser(r.Body) // a failed dial would close it
			}
			answer, err := transport.RoundTrip(try)
			if last = err; !isDial(err) {
				return answer, err
			}
		}
		if time.Now().After(deadline) {
			return nil, last
		}
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(pause):
		}
	}
}

// isDial tells that no connection came about, so nothing of the request was sent.
func isDial(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}
