// Package nodeproxy lets the API's proxy to nodes reach those with a loopback address, as K3s does.
package nodeproxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/kubelet/client"

	"nestor.dev/devcluster/kube/internal/status"
)

// Handler answers requests for `nodes/<name>/proxy` of nodes with a loopback address; all others are Next's. It stands behind
// authentication and authorization.
type Handler struct {
	Next      http.Handler
	Kubelets  client.ConnectionInfoGetter
	Transport http.RoundTripper // to ports that are not the kubelet's
}

func (handler *Handler) ServeHTTP(response http.ResponseWriter, req *http.Request) {
	info, found := request.RequestInfoFrom(req.Context())
	if !found || !info.IsResourceRequest || info.APIGroup != "" || info.Resource != "nodes" || info.Subresource != "proxy" {
		handler.Next.ServeHTTP(response, req)
		return
	}
	location, transport := handler.locate(req.Context(), info.Name)
	if location == nil {
		handler.Next.ServeHTTP(response, req)
		return
	}
	_, location.Path, _ = strings.Cut(req.URL.Path, "/nodes/"+info.Name+"/proxy")
	proxy.NewUpgradeAwareHandler(location, transport, true, false, responder{}).ServeHTTP(response, req)
}

// locate returns where `[scheme:]name[:port]` leads if that is on this machine, and else nothing.
func (handler *Handler) locate(ctx context.Context, id string) (*url.URL, http.RoundTripper) {
	scheme, name, port, valid := utilnet.SplitSchemeNamePort(id)
	if !valid {
		return nil, nil
	}
	kubelet, err := handler.Kubelets.GetConnectionInfo(ctx, types.NodeName(name))
	if err != nil || !isLoopback(ctx, kubelet.Hostname) {
		return nil, nil
	}
	if port == "" || port == kubelet.Port {
		return &url.URL{Scheme: kubelet.Scheme, Host: net.JoinHostPort(kubelet.Hostname, kubelet.Port)}, kubelet.Transport
	}
	return &url.URL{Scheme: scheme, Host: net.JoinHostPort(kubelet.Hostname, port)}, handler.Transport
}

func isLoopback(ctx context.Context, host string) bool {
	addresses, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil || len(addresses) == 0 {
		return false
	}
	for _, address := range addresses {
		if !address.IP.IsLoopback() {
			return false
		}
	}
	return true
}

type responder struct{}

func (responder) Error(response http.ResponseWriter, _ *http.Request, err error) {
	var failure *apierrors.StatusError
	if !errors.As(err, &failure) {
		failure = apierrors.NewInternalError(err)
	}
	status.Write(response, failure)
}
