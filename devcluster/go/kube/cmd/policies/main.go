// Command policies is the last CNI plugin of the embedded cluster's chain. It tells the enforcers of network policies that a pod
// has its addresses, and returns once the rules of the pod's own node cover it: a pod never runs without its policies. It is a
// test fixture, like the enforcer.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	ownLimit   = 20 * time.Second
	otherLimit = 2 * time.Second
)

// config is what containerd passes by standard input: the chain's entry of this plugin and the result of the one before it.
type config struct {
	Version  string          `json:"cniVersion"`
	Socket   string          `json:"socket"`
	Others   []string        `json:"others"`
	Previous json.RawMessage `json:"prevResult"`
}

// order is what an enforcer is told.
type order struct {
	Command   string   `json:"command"`
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	UID       string   `json:"uid"`
	Addresses []string `json:"addresses"`
}

func main() {
	if err := run(os.Getenv("CNI_COMMAND"), os.Stdin, os.Stdout); err != nil {
		answer, _ := json.Marshal(map[string]any{"cniVersion": "1.0.0", "code": 100, "msg": err.Error()})
		fmt.Println(string(answer))
		os.Exit(1)
	}
}

func run(command string, in io.Reader, out io.Writer) error {
	if command == "VERSION" {
		_, err := fmt.Fprintln(out, `{"cniVersion":"1.0.0","supportedVersions":["0.4.0","1.0.0"]}`)
		return err
	}
	var given config
	if err := json.NewDecoder(in).Decode(&given); err != nil {
		return fmt.Errorf("the configuration is no JSON: %w", err)
	}
	switch command {
	case "ADD":
		added, err := build(command, os.Getenv("CNI_ARGS"), given.Previous)
		if err != nil {
			return err
		}
		if err := tell(given, added); err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, string(given.Previous))
		return err
	case "DEL":
		// Nothing keeps a pod from going.
		if removed, err := build(command, os.Getenv("CNI_ARGS"), nil); err == nil {
			_ = tell(given, removed)
		}
	}
	return nil
}

// build reads the pod from CNI_ARGS and its addresses from the result of the plugins before.
func build(command, args string, previous json.RawMessage) (order, error) {
	values := map[string]string{}
	for _, pair := range strings.Split(args, ";") {
		key, value, _ := strings.Cut(pair, "=")
		values[key] = value
	}
	found := order{
		Command: command, Namespace: values["K8S_POD_NAMESPACE"], Name: values["K8S_POD_NAME"], UID: values["K8S_POD_UID"],
		Addresses: []string{},
	}
	if found.Namespace == "" || found.Name == "" || found.UID == "" {
		return order{}, fmt.Errorf("CNI_ARGS names no pod: %q", args)
	}
	if command != "ADD" {
		return found, nil
	}
	var result struct {
		IPs []struct {
			Address string `json:"address"`
		} `json:"ips"`
	}
	if err := json.Unmarshal(previous, &result); err != nil {
		return order{}, fmt.Errorf("the plugins before left no result: %w", err)
	}
	for _, item := range result.IPs {
		address, _, err := net.ParseCIDR(item.Address)
		if err != nil {
			return order{}, err
		}
		found.Addresses = append(found.Addresses, address.String())
	}
	if len(found.Addresses) == 0 {
		return order{}, errors.New("the plugins before gave the pod no address")
	}
	return found, nil
}

// tell informs all enforcers at once. Only the one of the pod's own node must have done its part: another node may be switched off.
func tell(given config, what order) error {
	var group sync.WaitGroup
	for _, socket := range given.Others {
		group.Add(1)
		go func() {
			defer group.Done()
			_ = ask(socket, what, otherLimit)
		}()
	}
	err := ask(given.Socket, what, ownLimit)
	group.Wait()
	return err
}

func ask(socket string, what order, limit time.Duration) error {
	connection, err := net.DialTimeout("unix", socket, limit)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	if err := json.NewEncoder(connection).Encode(what); err != nil {
		return err
	}
	var answer struct {
		Error string `json:"error"`
	}
	if err := json.NewDecoder(connection).Decode(&answer); err != nil {
		return fmt.Errorf("the enforcer of network policies did not answer: %w", err)
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return nil
}
