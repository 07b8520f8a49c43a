package standin

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestTheFirstProcessReturnsItsChildsExitCode(t *testing.T) {
	for text, want := range map[string]int{"exit 0": 0, "exit 3": 3, "kill -9 $$": 128 + 9} {
		if code, err := RunAsFirst("sh", []string{"-c", text}); err != nil || code != want {
			t.Errorf("%q: %d, %v", text, code, err)
		}
	}
	if _, err := RunAsFirst("/does/not/exist", nil); err == nil {
		t.Error("a program that is not there must be an error")
	}
}

func TestTheFirstProcessPassesSignalsOn(t *testing.T) {
	set := filepath.Join(t.TempDir(), "set")
	code := make(chan int, 1)
	go func() {
		got, _ := RunAsFirst("sh", []string{"-c", "trap 'exit 7' TERM; touch " + set + "; while :; do sleep 0.01; done"})
		code <- got
	}()
	for {
		if _, err := os.Stat(set); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != 7 {
		t.Errorf("got %d", got)
	}
}
