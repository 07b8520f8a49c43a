package standin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"time"
)

// readyInterval is short because everything in a job's start-up waits for this answer.
const readyInterval = 30 * time.Millisecond

// waitReady returns when the API server says that it is ready, or with the context's error.
func waitReady(ctx context.Context, at layout, port int) error {
	client, err := localClient(at)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	url := fmt.Sprintf("https://127.0.0.1:%d/readyz", port)
	for {
		if isReady(ctx, client, url) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(readyInterval):
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
