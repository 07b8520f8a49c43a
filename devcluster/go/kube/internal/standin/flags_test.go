package standin

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// minimal is the least that the stand-in starts with: everything that it does not have is switched off.
func minimal() []string {
	return []string{
		"--disable-agent", "--disable-scheduler", "--disable-cloud-controller", "--disable-network-policy", "--disable-kube-proxy",
		"--disable-helm-controller", "--flannel-backend=none", "--egress-selector-mode=disabled",
		"--disable=coredns,servicelb,traefik,local-storage,metrics-server",
	}
}

func options(t *testing.T, args ...string) (*Options, error) {
	t.Helper()
	given, err := parseFlags(append(minimal(), args...))
	if err != nil {
		return nil, err
	}
	return newOptions(given)
}

func TestFlagsAreReadInEveryFormThatK3sTakes(t *testing.T) {
	given, err := parseFlags([]string{
		"--data-dir", "/one", "--data-dir=/two", "--disable-agent", "--disable-scheduler=false",
		"--tls-san=a, b", "--tls-san", "c", "--kube-controller-manager-arg=controllers=*,-x",
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := given.one("data-dir", ""); got != "/two" {
		t.Errorf("the last value of a single flag wins, got %q", got)
	}
	if !given.isOn("disable-agent") || given.isOn("disable-scheduler") || given.isOn("disable-kube-proxy") {
		t.Error("switches are on only when given, and not given as false")
	}
	if got := given["tls-san"]; !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("lists are joined, got %q", got)
	}
	if got := given["kube-controller-manager-arg"]; !slices.Equal(got, []string{"controllers=*,-x"}) {
		t.Errorf("commas belong to a component's argument, got %q", got)
	}
}

func TestEverythingElseIsRefused(t *testing.T) {
	for _, args := range [][]string{
		{"--node-name=x"}, {"--write-kubeconfig=/x"}, {"-d", "/x"}, {"extra"}, {"--data-dir"}, {"--disable-agent=perhaps"},
	} {
		if _, err := parseFlags(args); err == nil {
			t.Errorf("%q must be refused", args)
		}
	}
	_, err := parseFlags([]string{"--cluster-init"})
	if err == nil || !strings.Contains(err.Error(), "--cluster-init is refused") || !strings.Contains(err.Error(), "--disable-agent") {
		t.Errorf("a refusal must name the flag and what is accepted, got %v", err)
	}
}

func TestDefaultsAreThoseOfK3s(t *testing.T) {
	got, err := options(t)
	if err != nil {
		t.Fatal(err)
	}
	if got.DataDir != "/var/lib/rancher/k3s" || got.Port != 6443 || got.ClusterDomain != "cluster.local" || got.KubeconfigMode != 0o600 ||
		join(got.ServiceCIDRs) != "10.43.0.0/16" || join(got.ClusterCIDRs) != "10.42.0.0/16" {
		t.Errorf("got %+v", got)
	}
}

func TestAPartThatTheStandInLacksMustBeSwitchedOff(t *testing.T) {
	for i, removed := range minimal() {
		given, err := parseFlags(slices.Delete(minimal(), i, i+1))
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(removed, "=")
		if _, err := newOptions(given); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: got %v", removed, err)
		}
	}
}

func TestValuesAreChecked(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arg := range []string{
		"--data-dir=relative", "--https-listen-port=0", "--https-listen-port=x", "--service-cidr=10.43.0.0", "--cluster-cidr=x",
		"--write-kubeconfig-mode=rw", "--kube-apiserver-arg=no-value", "--kube-apiserver-arg=--v=2", "--disable=agent",
		"--token-file=/does/not/exist", "--token-file=" + empty,
	} {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if _, err := options(t, arg); err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(name, "-arg")) && !strings.Contains(err.Error(), "component argument") {
			t.Errorf("%s: got %v", arg, err)
		}
	}
}

func TestTheConfigurationFileHasTheSameKeysAndYieldsToTheCommandLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	content := "disable-agent: true\nhttps-listen-port: 7443\ntls-san: [a, b]\ndata-dir: /file\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	merged, err := withConfigFile(settings{"tls-san": {"c"}, "data-dir": {"/line"}}, path)
	if err != nil {
		t.Fatal(err)
	}
	if !merged.isOn("disable-agent") || merged.one("https-listen-port", "") != "7443" || merged.one("data-dir", "") != "/line" {
		t.Errorf("got %v", merged)
	}
	if !slices.Equal(merged["tls-san"], []string{"c"}) {
		t.Errorf("the command line replaces whole lists, got %v", merged["tls-san"])
	}
	if _, err := parseConfig([]byte("cluster-init: true")); err == nil {
		t.Error("an unknown key must be refused")
	}
	if same, err := withConfigFile(settings{"data-dir": {"/x"}}, filepath.Join(t.TempDir(), "none")); err != nil || same.one("data-dir", "") != "/x" {
		t.Errorf("a missing file changes nothing: %v %v", same, err)
	}
}

func TestGivenComponentArgumentsReplaceDefaults(t *testing.T) {
	got := merge(map[string]string{"b": "1", "a": "1"}, []string{"b=2", "c=x=y"})
	if !slices.Equal(got, []string{"--a=1", "--b=2", "--c=x=y"}) {
		t.Errorf("got %q", got)
	}
}

func TestRuntimesMayBeDisabledAndNothingUnknownMay(t *testing.T) {
	for _, each := range []struct {
		args    []string
		without bool
	}{{nil, false}, {[]string{"--disable=runtimes"}, true}} {
		if got, err := options(t, each.args...); err != nil || got.WithoutRuntimes != each.without {
			t.Errorf("%q: %v, %v", each.args, got, err)
		}
	}
	if _, err := options(t, "--disable=rolebindings"); err == nil {
		t.Error("an add-on of another name must be refused")
	}
}
