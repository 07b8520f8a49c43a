package standin

import (
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Options is what the command line and the configuration file come down to.
type Options struct {
	DataDir               string
	Port                  int
	ServiceCIDRs          []netip.Prefix
	ClusterCIDRs          []netip.Prefix
	ClusterDomain         string
	Token                 string
	TLSSANs               []string
	Kubeconfig            string // the administrator's
	KubeconfigMode        fs.FileMode
	WithoutRuntimes       bool
	APIServerArgs         []string
	ControllerManagerArgs []string
}

// required are the switches without which K3s would run something that the stand-in does not have. Leaving one out is
// refused: it would only look as if it worked.
var required = []string{
	"disable-agent", "disable-scheduler", "disable-cloud-controller",
	"disable-network-policy", "disable-kube-proxy", "disable-helm-controller",
}

// packaged are the add-ons that K3s deploys unless they are disabled, and that the stand-in does not have.
var packaged = []string{"coredns", "servicelb", "traefik", "local-storage", "metrics-server"}

// runtimes is the add-on that the stand-in has: RuntimeClasses.
const runtimes = "runtimes"

// newOptions checks the settings and fills in K3s' defaults.
func newOptions(given settings) (*Options, error) {
	if err := refuseMissingParts(given); err != nil {
		return nil, err
	}
	options := &Options{
		DataDir:               given.one("data-dir", "/var/lib/rancher/k3s"),
		Kubeconfig:            adminKubeconfig,
		ClusterDomain:         given.one("cluster-domain", "cluster.local"),
		TLSSANs:               given["tls-san"],
		WithoutRuntimes:       slices.Contains(given["disable"], runtimes),
		APIServerArgs:         given["kube-apiserver-arg"],
		ControllerManagerArgs: given["kube-controller-manager-arg"],
	}
	if !filepath.IsAbs(options.DataDir) {
		return nil, fmt.Errorf("--data-dir must be an absolute path, not %q", options.DataDir)
	}
	var err error
	if options.Port, err = strconv.Atoi(given.one("https-listen-port", "6443")); err != nil || options.Port < 1 || options.Port > 65534 {
		return nil, fmt.Errorf("--https-listen-port must be a port number, not %q", given.one("https-listen-port", ""))
	}
	if options.ServiceCIDRs, err = prefixes(given, "service-cidr", "10.43.0.0/16"); err != nil {
		return nil, err
	}
	if options.ClusterCIDRs, err = prefixes(given, "cluster-cidr", "10.42.0.0/16"); err != nil {
		return nil, err
	}
	mode, err := strconv.ParseUint(given.one("write-kubeconfig-mode", "600"), 8, 9)
	if err != nil {
		return nil, fmt.Errorf("--write-kubeconfig-mode must be octal permissions, not %q", given.one("write-kubeconfig-mode", ""))
	}
	options.KubeconfigMode = fs.FileMode(mode)
	for _, arg := range slices.Concat(options.APIServerArgs, options.ControllerManagerArgs) {
		if !strings.Contains(arg, "=") || strings.HasPrefix(arg, "-") {
			return nil, fmt.Errorf("component argument %q must have the form name=value", arg)
		}
	}
	options.Token, err = readToken(given.one("token-file", ""))
	return options, err
}

// internalPort is where the API server itself listens, for this machine only; K3s' supervisor has the port before.
func (options *Options) internalPort() int { return options.Port + 1 }

func refuseMissingParts(given settings) error {
	for _, name := range required {
		if !given.isOn(name) {
			return fmt.Errorf("--%s must be given: the stand-in has no such part to run", name)
		}
	}
	if backend := given.one("flannel-backend", "vxlan"); backend != "none" {
		return fmt.Errorf("--flannel-backend must be 'none', not %q: the stand-in has no flannel", backend)
	}
	if mode := given.one("egress-selector-mode", "agent"); mode != "disabled" {
		return fmt.Errorf("--egress-selector-mode must be 'disabled', not %q: the stand-in has no tunnels", mode)
	}
	for _, name := range packaged {
		if !slices.Contains(given["disable"], name) {
			return fmt.Errorf("--disable must list %q: the stand-in deploys no add-ons", name)
		}
	}
	for _, name := range given["disable"] {
		if name != runtimes && !slices.Contains(packaged, name) {
			return fmt.Errorf("--disable may not list %q; it must be one of %s, %s", name, strings.Join(packaged, ", "), runtimes)
		}
	}
	return nil
}

func prefixes(given settings, name, fallback string) ([]netip.Prefix, error) {
	texts := given[name]
	if len(texts) == 0 {
		texts = []string{fallback}
	}
	parsed := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("--%s must be a network like %q, not %q", name, fallback, text)
		}
		parsed = append(parsed, prefix.Masked())
	}
	return parsed, nil
}

func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if token == "" {
		return "", fmt.Errorf("--token-file: %s is empty", path)
	}
	return token, nil
}

func join(networks []netip.Prefix) string {
	texts := make([]string, 0, len(networks))
	for _, network := range networks {
		texts = append(texts, network.String())
	}
	return strings.Join(texts, ",")
}
