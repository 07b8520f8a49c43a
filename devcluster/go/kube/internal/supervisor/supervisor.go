// Package supervisor is what listens at K3s' port: it answers K3s' own paths itself and hands the rest to the API.
package supervisor

import (
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"nestor.dev/devcluster/kube/internal/status"
)

// headerTimeout is the one that Kubernetes' own listener has.
const headerTimeout = 32 * time.Second

// Files are the PEM files that the supervisor serves with and gives out.
type Files struct {
	Certificate, Key   string // of the listener
	ServerCA, ClientCA string
}

// Supervisor answers from its start on: 503 "starting" until Open, then K3s' own paths, and 503 "apiserver not ready" for all
// others until Mount.
type Supervisor struct {
	server   *http.Server
	serverCA []byte
	clientCA []byte
	token    atomic.Pointer[string]
	api      atomic.Pointer[http.Handler]
}

// Start listens at the port on every address.
func Start(port int, files Files) (*Supervisor, error) {
	certificate, certificateErr := tls.LoadX509KeyPair(files.Certificate, files.Key)
	serverCA, serverErr := os.ReadFile(files.ServerCA)
	clientCA, clientErr := os.ReadFile(files.ClientCA)
	if err := errors.Join(certificateErr, serverErr, clientErr); err != nil {
		return nil, err
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(clientCA)
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return nil, err
	}
	supervisor := &Supervisor{serverCA: serverCA, clientCA: clientCA}
	supervisor.server = &http.Server{
		Handler:           supervisor,
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          log.New(os.Stderr, "supervisor: ", 0),
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{certificate},
			ClientAuth:   tls.RequestClientCert, // the API judges it
			ClientCAs:    clients,               // the hint by which clients choose
			MinVersion:   tls.VersionTLS12,
		},
	}
	go supervisor.server.ServeTLS(listener, "", "") //nolint:errcheck // ends by Close
	return supervisor, nil
}

// Open begins to serve K3s' own paths, with the token that those under /v1-k3s ask for.
func (supervisor *Supervisor) Open(token string) { supervisor.token.Store(&token) }

// Mount begins to hand requests to the API.
func (supervisor *Supervisor) Mount(api http.Handler) { supervisor.api.Store(&api) }

// Close ends the listener and every connection.
func (supervisor *Supervisor) Close() { _ = supervisor.server.Close() }

func (supervisor *Supervisor) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	token, api := supervisor.token.Load(), supervisor.api.Load()
	switch {
	case token == nil:
		status.Write(response, apierrors.NewServiceUnavailable("starting"))
	case request.URL.Path == "/ping":
		writeText(response, []byte("pong"))
	case request.URL.Path == "/cacerts":
		writeText(response, supervisor.serverCA)
	case strings.HasPrefix(request.URL.Path, "/v1-k3s/"):
		supervisor.serveJoining(response, request, *token)
	case api == nil:
		status.Write(response, apierrors.NewServiceUnavailable("apiserver not ready"))
	default:
		(*api).ServeHTTP(response, request)
	}
}

// serveJoining answers what other servers and agents ask. Few of these paths exist here, since nothing joins.
func (supervisor *Supervisor) serveJoining(response http.ResponseWriter, request *http.Request, token string) {
	user, password, given := request.BasicAuth()
	switch {
	case !given:
		status.Write(response, apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("not authorized")))
		return
	case user != "server" && user != "node", subtle.ConstantTimeCompare([]byte(password), []byte(token)) != 1:
		status.Write(response, apierrors.NewUnauthorized("not authorized"))
		return
	}
	switch strings.TrimPrefix(request.URL.Path, "/v1-k3s/") {
	case "readyz":
		supervisor.serveReady(response)
	case "server-ca.crt":
		writeText(response, supervisor.serverCA)
	case "client-ca.crt":
		writeText(response, supervisor.clientCA)
	default:
		status.Write(response, apierrors.NewGenericServerResponse(
			http.StatusNotImplemented, request.Method, schema.GroupResource{}, "", "the stand-in does not have this path", 0, false))
	}
}

func (supervisor *Supervisor) serveReady(response http.ResponseWriter) {
	if supervisor.api.Load() == nil {
		status.Write(response, apierrors.NewServiceUnavailable("apiserver not ready"))
		return
	}
	writeText(response, []byte("ok"))
}

func writeText(response http.ResponseWriter, body []byte) {
	response.Header().Set("Content-Type", "text/plain")
	_, _ = response.Write(body) // a client that has gone cannot be told anything
}
