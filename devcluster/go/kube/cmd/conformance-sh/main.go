// The shell of the image of busybox that the conformance tests use: busybox' own, except where that of Debian 12 would drop
// environment variables, because their names are no identifiers. Then it is bash, which hands them on as later busyboxes do.
package main

import (
	"fmt"
	"os"
	"regexp"
	"syscall"
)

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

func main() {
	program := choose(os.Environ())
	err := syscall.Exec(program, os.Args, os.Environ())
	fmt.Fprintf(os.Stderr, "sh: %s: %v\n", program, err)
	os.Exit(127)
}

func choose(environment []string) string {
	for _, variable := range environment {
		if !identifier.MatchString(variable) {
			return "/bin/bash"
		}
	}
	return "/bin/busybox"
}
