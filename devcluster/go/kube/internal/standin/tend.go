package standin

import (
	"context"
	"crypto/sha1" //nolint:gosec // a name for a certificate, not a protection
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"nestor.dev/devcluster/kube/internal/fresh"
)

const objectsInterval = time.Second

// clusterDNSHost is the host number of the cluster's DNS in the Services' network.
const clusterDNSHost = 10

// tend is what K3s' own controllers come to: objects of every cluster, and a finalizer on nodes.
func tend(ctx context.Context, at layout, options *Options) error {
	config, err := clientcmd.BuildConfigFromFlags("", at.cred("supervisor.kubeconfig"))
	if err != nil {
		return err
	}
	config.QPS = -1 // without a limit
	objects, objectsErr := dynamic.NewForConfig(config)
	nodes, nodesErr := kubernetes.NewForConfig(config)
	values, valuesErr := freshValues(at, options)
	if err := errors.Join(objectsErr, nodesErr, valuesErr); err != nil {
		return err
	}
	go fresh.HoldNodes(ctx, nodes)
	for ctx.Err() == nil {
		err := fresh.Ensure(ctx, objects, values)
		if err == nil || ctx.Err() != nil {
			break
		}
		logf("objects of a fresh cluster, tried again in %s: %v", objectsInterval, err) // the namespaces may not be there yet
		pause(ctx, objectsInterval)
	}
	<-ctx.Done()
	return nil
}

func freshValues(at layout, options *Options) (fresh.Values, error) {
	hostname, hostErr := os.Hostname()
	content, certificateErr := os.ReadFile(at.tls(publicServing + ".crt"))
	key, keyErr := os.ReadFile(at.tls(publicServing + ".key"))
	if err := errors.Join(hostErr, certificateErr, keyErr); err != nil {
		return fresh.Values{}, err
	}
	certificate, err := parseCertificate(content)
	if err != nil {
		return fresh.Values{}, err
	}
	return fresh.Values{
		ClusterDNS:      nth(options.ServiceCIDRs[0], clusterDNSHost).String(),
		ClusterDomain:   options.ClusterDomain,
		Hostname:        hostname,
		Certificate:     content,
		Key:             key,
		Fingerprint:     fmt.Sprintf("%X", sha1.Sum(certificate.Raw)), //nolint:gosec // as above
		WithoutRuntimes: options.WithoutRuntimes,
	}, nil
}

// nth is the n-th address after a network's own.
func nth(network netip.Prefix, n int) netip.Addr {
	address := network.Addr()
	for range n {
		address = address.Next()
	}
	return address
}
