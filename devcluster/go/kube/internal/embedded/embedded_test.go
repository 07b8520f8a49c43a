package embedded

import (
	"net"
	"strings"
	"testing"

	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

func TestClientsAreToldThePortOfK3sListener(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if got := (&advertised{listener, 6443}).Addr().String(); got != "127.0.0.1:6443" {
		t.Errorf("got %s", got)
	}
}

func TestComponentArgumentsThatKubernetesDoesNotKnowAreRefused(t *testing.T) {
	for argument, want := range map[string]string{
		"--enable-aggregator-routing=true": "", "--no-such-flag=1": "unknown flag", "--secure-port=x": "invalid argument", "word": "flags only",
	} {
		server := options.NewServerRunOptions()
		err := parse("kube-apiserver", server.Flags(), []string{argument})
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "kube-apiserver")) {
			t.Errorf("%s: got %v", argument, err)
		}
		if want == "" && !server.EnableAggregatorRouting {
			t.Error("aggregator routing must be on")
		}
	}
}
