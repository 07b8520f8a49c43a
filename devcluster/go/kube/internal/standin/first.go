package standin

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// RunAsFirst runs this program again as a child and returns its exit code, after it was the first process of its container: it
// passes signals on and collects whatever ends below it. K3s does the same, which costs memory and a moment of the start.
func RunAsFirst(program string, args []string) (int, error) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGCHLD)
	defer signal.Stop(signals)
	child := exec.Command(program, args...)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		return 0, err
	}
	for received := range signals {
		if received != syscall.SIGCHLD {
			_ = child.Process.Signal(received)
			continue
		}
		if code, ended, err := collect(child.Process.Pid); ended || err != nil {
			return code, err
		}
	}
	return 0, nil
}

// collect takes every child that has ended; it says whether the one was among them, and its exit code.
func collect(pid int) (code int, ended bool, err error) {
	for {
		var state syscall.WaitStatus
		found, err := syscall.Wait4(-1, &state, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.ECHILD), err == nil && found == 0:
			return code, ended, nil
		case err != nil:
			return 0, false, err
		case found == pid && state.Signaled():
			code, ended = 128+int(state.Signal()), true
		case found == pid:
			code, ended = state.ExitStatus(), true
		}
	}
}
