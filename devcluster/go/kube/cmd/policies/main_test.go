package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

const args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=team;K8S_POD_NAME=web;K8S_POD_INFRA_CONTAINER_ID=x;K8S_POD_UID=7"

// listen answers every order with `answer` and hands it out.
func listen(t *testing.T, answer string) (string, chan order) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	orders := make(chan order, 8)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(connection).ReadBytes('\n')
			var got order
			_ = json.Unmarshal(line, &got)
			orders <- got
			_, _ = connection.Write([]byte(answer + "\n"))
			connection.Close()
		}
	}()
	return socket, orders
}

func input(t *testing.T, socket string, others ...string) *bytes.Reader {
	t.Helper()
	content, err := json.Marshal(map[string]any{
		"cniVersion": "1.0.0", "socket": socket, "others": others,
		"prevResult": map[string]any{"cniVersion": "1.0.0", "ips": []map[string]string{{"address": "10.42.0.5/24"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(content)
}

func TestAddTellsAllNodesAndPassesTheResultOn(t *testing.T) {
	t.Setenv("CNI_ARGS", args)
	own, orders := listen(t, `{"error":""}`)
	other, otherOrders := listen(t, `{"error":"late"}`)
	var out strings.Builder
	if err := run("ADD", input(t, own, other, "/nobody/listens"), &out); err != nil {
		t.Fatal(err)
	}
	for _, got := range []order{<-orders, <-otherOrders} {
		if got.Command != "ADD" || got.Namespace != "team" || got.Name != "web" || got.UID != "7" || got.Addresses[0] != "10.42.0.5" {
			t.Errorf("told %+v", got)
		}
	}
	if !strings.Contains(out.String(), "10.42.0.5/24") {
		t.Errorf("the result is %s", out.String())
	}
}

func TestAPodIsNotStartedWithoutItsRules(t *testing.T) {
	t.Setenv("CNI_ARGS", args)
	socket, _ := listen(t, `{"error":"no rules yet"}`)
	for name, place := range map[string]string{"refused": socket, "absent": "/nobody/listens"} {
		if err := run("ADD", input(t, place), &strings.Builder{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestAPodWithoutNameOrAddressIsNotStarted(t *testing.T) {
	socket, _ := listen(t, `{"error":""}`)
	t.Setenv("CNI_ARGS", "K8S_POD_NAME=web")
	if err := run("ADD", input(t, socket), &strings.Builder{}); err == nil {
		t.Error("no error without a namespace")
	}
	t.Setenv("CNI_ARGS", args)
	empty := strings.NewReader(`{"socket":"` + socket + `","prevResult":{"ips":[]}}`)
	if err := run("ADD", empty, &strings.Builder{}); err == nil {
		t.Error("no error without an address")
	}
}

func TestNothingKeepsAPodFromGoing(t *testing.T) {
	t.Setenv("CNI_ARGS", args)
	if err := run("DEL", input(t, "/nobody/listens"), &strings.Builder{}); err != nil {
		t.Error(err)
	}
	socket, orders := listen(t, `{"error":""}`)
	if err := run("DEL", input(t, socket), &strings.Builder{}); err != nil {
		t.Error(err)
	}
	if got := <-orders; got.Command != "DEL" || got.UID != "7" {
		t.Errorf("told %+v", got)
	}
}

func TestVersion(t *testing.T) {
	var out strings.Builder
	if err := run("VERSION", strings.NewReader(""), &out); err != nil || !strings.Contains(out.String(), "1.0.0") {
		t.Errorf("%v: %s", err, out.String())
	}
}
