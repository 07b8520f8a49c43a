package standin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// readyInterval is K3s'. Whatever runs in the cluster waits for the controllers, and they wait for this.
const readyInterval = 2 * time.Second

// waitReady asks the API server at once, and then at each interval; it returns when that is ready, or with the context's error.
func waitReady(ctx context.Context, at layout, port int, interval time.Duration) error {
	client, err := localClient(at)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	url := fmt.Sprintf("https://127.0.0.1:%d/readyz", port)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for !isReady(ctx, client, url) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}

// datastoreInterval is short: K3s has its datastore in the same process and waits for it without a poll.
const datastoreInterval = 10 * time.Millisecond

// waitSocket returns when something listens at the path, or with the context's error.
func waitSocket(ctx context.Context, path string) error {
	for {
		connection, err := net.Dial("unix", path)
		if err == nil {
			return connection.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(datastoreInterval):
		}
	}
}

func isReady(ctx context.Context, client *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// localClient carries the administrator's certificate: with anonymous access off, /readyz needs one too.
func localClient(at layout) (*http.Client, error) {
	certificate, err := tls.LoadX509KeyPair(at.tls("client-admin.crt"), at.tls("client-admin.key"))
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(at.tls("server-ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(content)
	return &http.Client{
		Timeout: time.Second,
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		},
	}, nil
}
