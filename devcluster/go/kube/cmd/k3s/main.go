// Command k3s is a stand-in for K3s: a test fixture, not K3s. See the README of this module.
package main

import (
	"fmt"
	"os"

	"nestor.dev/devcluster/kube/internal/standin"
)

// version is the K3s release whose command line and files this program stands in for; set by the build.
var version = "unknown"

func main() {
	if err := standin.Main(os.Args[1:], version); err != nil {
		fmt.Fprintln(os.Stderr, "k3s stand-in: "+err.Error())
		os.Exit(1)
	}
}
