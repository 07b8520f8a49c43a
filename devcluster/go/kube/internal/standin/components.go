package standin

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// datastoreSocket is relative, as K3s has it: every component runs in the server directory.
const (
	socketFile      = "kine.sock"
	datastoreSocket = "unix://" + socketFile
)

func kineArgs(at layout) []string {
	const parameters = "_journal=WAL&cache=shared&_busy_timeout=30000&_synchronous=NORMAL&_txlock=immediate&_stmt_cache_size=20"
	return []string{
		"--endpoint=sqlite://" + at.database() + "?" + parameters,
		"--listen-address=" + datastoreSocket,
	}
}

// apiServerArgs follows K3s' own with --egress-selector-mode=disabled, which leaves `enable-aggregator-routing` off.
func apiServerArgs(at layout, options *Options) []string {
	issuer := "https://kubernetes.default.svc." + options.ClusterDomain
	return merge(map[string]string{
		"allow-privileged":                   "true",
		"anonymous-auth":                     "false",
		"api-audiences":                      issuer + ",k3s",
		"authorization-mode":                 "Node,RBAC",
		"bind-address":                       "127.0.0.1",
		"client-ca-file":                     at.tls("client-ca.crt"),
		"enable-admission-plugins":           "NodeRestriction",
		"enable-bootstrap-token-auth":        "true",
		"etcd-servers":                       datastoreSocket,
		"kubelet-certificate-authority":      at.tls("server-ca.crt"),
		"kubelet-client-certificate":         at.tls("client-kube-apiserver.crt"),
		"kubelet-client-key":                 at.tls("client-kube-apiserver.key"),
		"kubelet-preferred-address-types":    "InternalIP,ExternalIP,Hostname",
		"profiling":                          "false",
		"proxy-client-cert-file":             at.tls("client-auth-proxy.crt"),
		"proxy-client-key-file":              at.tls("client-auth-proxy.key"),
		"requestheader-allowed-names":        "system:auth-proxy",
		"requestheader-client-ca-file":       at.tls("request-header-ca.crt"),
		"requestheader-extra-headers-prefix": "X-Remote-Extra-",
		"requestheader-group-headers":        "X-Remote-Group",
		"requestheader-username-headers":     "X-Remote-User",
		"secure-port":                        strconv.Itoa(options.internalPort()),
		"service-account-issuer":             issuer,
		"service-account-key-file":           at.tls("service.key"),
		"service-account-signing-key-file":   at.tls("service.key"),
		"service-cluster-ip-range":           join(options.ServiceCIDRs),
		"storage-backend":                    "etcd3",
		"tls-cert-file":                      at.tls("serving-kube-apiserver.crt"),
		"tls-private-key-file":               at.tls("serving-kube-apiserver.key"),
	}, options.APIServerArgs)
}

func controllerManagerArgs(at layout, options *Options) []string {
	kubeconfig := at.cred("controller.kubeconfig")
	args := map[string]string{
		"allocate-node-cidrs":              "true",
		"authentication-kubeconfig":        kubeconfig,
		"authorization-kubeconfig":         kubeconfig,
		"bind-address":                     "127.0.0.1",
		"cluster-cidr":                     join(options.ClusterCIDRs),
		"controllers":                      "*,tokencleaner",
		"kubeconfig":                       kubeconfig,
		"leader-elect":                     "false", // one server: its datastore cannot be shared
		"profiling":                        "false",
		"root-ca-file":                     at.tls("server-ca.crt"),
		"secure-port":                      "10257",
		"service-account-private-key-file": at.tls("service.key"),
		"service-cluster-ip-range":         join(options.ServiceCIDRs),
		"use-service-account-credentials":  "true",
	}
	for purpose, name := range map[string]string{
		"kube-apiserver-client": "client-ca", "kubelet-client": "client-ca", "kubelet-serving": "server-ca", "legacy-unknown": "server-ca",
	} {
		args["cluster-signing-"+purpose+"-cert-file"] = at.tls(name + ".crt")
		args["cluster-signing-"+purpose+"-key-file"] = at.tls(name + ".key")
	}
	return merge(args, options.ControllerManagerArgs)
}

// merge lets the user's `name=value` arguments replace the defaults of the same name, and orders the result.
func merge(defaults map[string]string, given []string) []string {
	merged := maps.Clone(defaults)
	for _, argument := range given {
		name, value, _ := strings.Cut(argument, "=")
		merged[name] = value
	}
	args := make([]string, 0, len(merged))
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		args = append(args, fmt.Sprintf("--%s=%s", name, merged[name]))
	}
	return args
}
