// Package standin runs real Kubernetes components behind K3s' documented command line and files.
//
// It is a test fixture for machines that cannot have K3s itself. It accepts only what Nestor uses of K3s and refuses the rest,
// so that a test never passes because of something that K3s would have done differently.
package standin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

type kind int

const (
	boolean  kind = iota // a switch
	single               // one value, the last one given wins
	listed               // repeatable, each value may hold several, separated by commas
	verbatim             // repeatable, commas belong to the value
)

// accepted is every flag of `k3s server` that the stand-in understands; the README names the documentation of each.
var accepted = map[string]kind{
	"disable-agent":               boolean,
	"disable-scheduler":           boolean,
	"disable-cloud-controller":    boolean,
	"disable-network-policy":      boolean,
	"disable-kube-proxy":          boolean,
	"disable-helm-controller":     boolean,
	"flannel-backend":             single,
	"egress-selector-mode":        single,
	"disable":                     listed,
	"data-dir":                    single,
	"https-listen-port":           single,
	"service-cidr":                listed,
	"cluster-cidr":                listed,
	"cluster-domain":              single,
	"token-file":                  single,
	"tls-san":                     listed,
	"write-kubeconfig-mode":       single,
	"kube-apiserver-arg":          verbatim,
	"kube-controller-manager-arg": verbatim,
}

// settings are the values given for each flag, by the flag's name.
type settings map[string][]string

// parseFlags reads `--name value`, `--name=value` and, for switches, `--name`.
func parseFlags(args []string) (settings, error) {
	given := settings{}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, isFlag := strings.CutPrefix(arg, "--")
		if !isFlag {
			return nil, fmt.Errorf("argument %q is not understood; only long flags may follow `server`", arg)
		}
		name, value, hasValue := strings.Cut(name, "=")
		if _, known := accepted[name]; !known {
			return nil, refusal(name)
		}
		switch {
		case hasValue:
		case accepted[name] == boolean:
			value = "true"
		case len(args) == 0:
			return nil, fmt.Errorf("--%s must have a value", name)
		default:
			value, args = args[0], args[1:]
		}
		if err := given.add(name, value); err != nil {
			return nil, err
		}
	}
	return given, nil
}

// refusal explains an unknown flag; it is the point of the stand-in, so it says what there is.
func refusal(name string) error {
	names := make([]string, 0, len(accepted))
	for known := range accepted {
		names = append(names, "--"+known)
	}
	slices.Sort(names)
	return fmt.Errorf("flag --%s is refused: this is a stand-in for K3s, not K3s, and it accepts only %s",
		name, strings.Join(names, " "))
}

func (given settings) add(name, value string) error {
	switch accepted[name] {
	case boolean:
		if _, err := strconv.ParseBool(value); err != nil {
			return fmt.Errorf("--%s must be true or false, not %q", name, value)
		}
		given[name] = []string{value}
	case single:
		given[name] = []string{value}
	case listed:
		for part := range strings.SplitSeq(value, ",") {
			given[name] = append(given[name], strings.TrimSpace(part))
		}
	case verbatim:
		given[name] = append(given[name], value)
	}
	return nil
}

func (given settings) isOn(name string) bool {
	values := given[name]
	on, err := strconv.ParseBool(strings.Join(values, ""))
	return err == nil && on
}

func (given settings) one(name, fallback string) string {
	if values := given[name]; len(values) > 0 {
		return values[0]
	}
	return fallback
}
