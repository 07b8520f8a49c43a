package main

import "testing"

func TestTheShellThatHandsOnTheWholeEnvironmentIsChosen(t *testing.T) {
	for want, environment := range map[string][]string{
		"/bin/busybox": {"PATH=/bin", "_x1=a-b=c", "EMPTY="},
		"/bin/bash":    {"PATH=/bin", "data-1=value-1"},
	} {
		if got := choose(environment); got != want {
			t.Errorf("choose(%q) = %q, want %q", environment, got, want)
		}
	}
	if got := choose([]string{"1x=y"}); got != "/bin/bash" {
		t.Errorf("a name that begins with a digit chose %q", got)
	}
}
