// Command k3s is a stand-in for K3s: a test fixture, not K3s. See the README of this module.
package main

import (
	"fmt"
	"os"

	"nestor.dev/devcluster/kube/internal/embedded"
	"nestor.dev/devcluster/kube/internal/standin"
)

// version is the K3s release whose command line and files this program stands in for; set by the build.
var version = "unknown"

func main() {
	code, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "k3s stand-in: "+err.Error())
		os.Exit(1)
	}
	os.Exit(code)
}

func run() (int, error) {
	if os.Getpid() == 1 {
		program, err := os.Executable()
		if err != nil {
			return 0, err
		}
		return standin.RunAsFirst(program, os.Args[1:])
	}
	return 0, standin.Main(os.Args[1:], version, standin.Kubernetes{
		APIServer: embedded.APIServer, ControllerManager: embedded.ControllerManager,
	})
}
