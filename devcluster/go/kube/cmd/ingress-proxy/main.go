// Command ingress-proxy is the data path of the embedded cluster's Ingress controller: plain HTTP and TLS, a reverse proxy to
// pods. Its table of hosts comes as JSON by PUT to a Unix socket. Each request is answered by the table of the moment in which it
// came, so a new table never touches what is under way.
package main

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"sync/atomic"
)

func main() {
	socket := flag.String("socket", "", "Unix `socket` that takes the table")
	plain := flag.String("http", "", "`address` for HTTP")
	secure := flag.String("https", "", "`address` for HTTPS")
	flag.Parse()
	fmt.Fprintf(os.Stderr, "ingress-proxy: %v\n", run(*socket, *plain, *secure))
	os.Exit(1)
}

// run serves until one of the three servers fails.
func run(socket, plain, secure string) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	current := &handler{errors: log.New(os.Stderr, "", log.LstdFlags)}
	// Nobody was told a host yet: until the first table, the ports are closed.
	first := make(chan struct{})
	failed := make(chan error, 3)
	go func() { failed <- listen("unix", socket, &http.Server{Handler: take(current, first)}) }()
	select {
	case err := <-failed:
		return err
	case <-first:
	}
	go func() { failed <- listen("tcp", plain, &http.Server{Handler: current}) }()
	go func() {
		failed <- listen("tcp", secure, &http.Server{Handler: current, TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12,
			GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
				return current.table.Load().certificate(hello)
			},
		}})
	}()
	return <-failed
}

func listen(network, address string, server *http.Server) error {
	listener, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	if server.TLSConfig != nil {
		return server.ServeTLS(listener, "", "")
	}
	return server.Serve(listener)
}

// take replaces the table by the one of a request, or says what is wrong with that and keeps what there is.
func take(current *handler, first chan struct{}) http.HandlerFunc {
	var begun atomic.Bool
	return func(w http.ResponseWriter, r *http.Request) {
		var config Config
		if err := json.NewDecoder(r.Body).Decode(&config); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fresh, err := newTable(config)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		current.table.Store(fresh)
		if begun.CompareAndSwap(false, true) {
			close(first)
		}
		w.WriteHeader(http.StatusNoContent)
	}
}
