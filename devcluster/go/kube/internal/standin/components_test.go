package standin

import (
	"slices"
	"strings"
	"testing"
)

func arguments(t *testing.T, build func(layout, *Options) []string, args ...string) map[string]string {
	t.Helper()
	given, err := options(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, argument := range build(layout{"/s"}, given) {
		name, value, _ := strings.Cut(strings.TrimPrefix(argument, "--"), "=")
		values[name] = value
	}
	return values
}

func TestAggregatorRoutingIsLeftToTheUser(t *testing.T) {
	if value, set := arguments(t, apiServerArgs)["enable-aggregator-routing"]; set {
		t.Errorf("K3s does not set it while the egress selector is disabled, got %q", value)
	}
	explicit := arguments(t, apiServerArgs, "--kube-apiserver-arg=enable-aggregator-routing=true")
	if value := explicit["enable-aggregator-routing"]; value != "true" {
		t.Errorf("got %q", value)
	}
}

func TestTheAPIServerListensForThisMachineOnThePortAfterK3s(t *testing.T) {
	got := arguments(t, apiServerArgs, "--https-listen-port=7443")
	if got["bind-address"] != "127.0.0.1" || got["secure-port"] != "7444" || got["anonymous-auth"] != "false" {
		t.Errorf("got %v", got)
	}
}

func TestSignersUseTheCAsThatK3sGivesThem(t *testing.T) {
	got := arguments(t, controllerManagerArgs)
	for signer, authority := range map[string]string{
		"kube-apiserver-client": "client-ca", "kubelet-client": "client-ca", "kubelet-serving": "server-ca", "legacy-unknown": "server-ca",
	} {
		for _, end := range [][]string{{"cert-file", ".crt"}, {"key-file", ".key"}} {
			if value := got["cluster-signing-"+signer+"-"+end[0]]; value != "/s/tls/"+authority+end[1] {
				t.Errorf("%s: got %q", signer, value)
			}
		}
	}
}

func TestTheControllersAreTheUsers(t *testing.T) {
	got := arguments(t, controllerManagerArgs, "--kube-controller-manager-arg=controllers=*,-x", "--kube-controller-manager-arg=kube-api-qps=300")
	if got["controllers"] != "*,-x" || got["kube-api-qps"] != "300" {
		t.Errorf("got %v", got)
	}
	if names := kineArgs(layout{"/s"}); !slices.Contains(names, "--listen-address=unix://kine.sock") {
		t.Errorf("got %v", names)
	}
}
