// Package embedded runs Kubernetes' control plane inside this process, as K3s does, from Kubernetes' own packages.
package embedded

import (
	"fmt"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics on /metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // build information on /metrics
)

// A process has one log. The second component may only ask for the same settings as the first.
func init() {
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
}

// parse reads a component's command line: `--name=value` arguments and nothing else.
func parse(component string, known cliflag.NamedFlagSets, args []string) error {
	flags := pflag.NewFlagSet(component, pflag.ContinueOnError)
	flags.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	for _, set := range known.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%s: %w", component, err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s: takes flags only, not %q", component, flags.Args())
	}
	return nil
}
