package embedded

import (
	"context"
	"errors"
	"net"
	"net/http"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	basecompatibility "k8s.io/component-base/compatibility"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/kubernetes/pkg/kubelet/client"

	"nestor.dev/devcluster/kube/internal/nodeproxy"
)

// APIServer runs kube-apiserver until the context ends. It gives its handler to mount as soon as that can answer, which is
// before the server is ready. The server's own port is for this machine; publicPort is the one that clients are told.
func APIServer(ctx context.Context, args []string, publicPort int, mount func(http.Handler)) error {
	completed, err := apiServerOptions(ctx, args)
	if err != nil {
		return err
	}
	config, err := app.NewConfig(completed)
	if err != nil {
		return err
	}
	serving := config.KubeAPIs.ControlPlane.Generic.SecureServing
	serving.Listener = &advertised{serving.Listener, publicPort}
	if err := allowLoopbackNodes(config, completed); err != nil {
		return err
	}
	complete, err := config.Complete()
	if err != nil {
		return err
	}
	chain, err := app.CreateServerChain(complete)
	if err != nil {
		return err
	}
	prepared, err := chain.PrepareRun()
	if err != nil {
		return err
	}
	mount(prepared.GenericAPIServer.Handler)
	return prepared.Run(ctx)
}

func apiServerOptions(ctx context.Context, args []string) (options.CompletedOptions, error) {
	none := options.CompletedOptions{}
	server := options.NewServerRunOptions()
	if err := parse("kube-apiserver", server.Flags(), args); err != nil {
		return none, err
	}
	components := server.GenericServerRunOptions.ComponentGlobalsRegistry
	if err := components.Set(); err != nil {
		return none, err
	}
	if err := logsapi.ValidateAndApply(server.Logs, components.FeatureGateFor(basecompatibility.DefaultKubeComponent)); err != nil {
		return none, err
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	completed, err := server.Complete(ctx)
	if err != nil {
		return none, err
	}
	return completed, errors.Join(completed.Validate()...)
}

// allowLoopbackNodes puts the proxy of K3s in front of the API's own, which refuses nodes with a loopback address.
func allowLoopbackNodes(config *app.Config, completed options.CompletedOptions) error {
	generic := config.Aggregator.GenericConfig
	nodes, err := kubernetes.NewForConfig(generic.LoopbackClientConfig)
	if err != nil {
		return err
	}
	kubelets, err := client.NewNodeConnectionInfoGetter(nodes.CoreV1().Nodes(), completed.KubeletConfig)
	if err != nil {
		return err
	}
	build, transport := generic.BuildHandlerChainFunc, config.KubeAPIs.ControlPlane.ProxyTransport
	generic.BuildHandlerChainFunc = func(handler http.Handler, config *genericapiserver.Config) http.Handler {
		return build(&nodeproxy.Handler{Next: handler, Kubelets: kubelets, Transport: transport}, config)
	}
	return nil
}

// advertised is a listener that reports another port: the one in the endpoints of Service `kubernetes`.
type advertised struct {
	net.Listener
	port int
}

func (listener *advertised) Addr() net.Addr {
	address, ok := listener.Listener.Addr().(*net.TCPAddr)
	if !ok {
		return listener.Listener.Addr()
	}
	return &net.TCPAddr{IP: address.IP, Port: listener.port, Zone: address.Zone}
}
