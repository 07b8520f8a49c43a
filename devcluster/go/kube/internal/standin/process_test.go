package standin

import (
	"context"
	"strings"
	"testing"
	"time"
)

func script(t *testing.T, running *family, text string) {
	t.Helper()
	if err := running.start("part", "sh", []string{"-c", text}); err != nil {
		t.Fatal(err)
	}
}

func forever(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestTheDeathOfAComponentEndsTheWorkAndTellsItsLastLines(t *testing.T) {
	running := newFamily(t.TempDir())
	defer running.stop(patience)
	script(t, running, "exec sleep 60")
	script(t, running, "for i in 1 2 3 4 5 6; do echo line $i; done; exit 3")
	err := running.until(t.Context(), forever)
	if err == nil || !strings.Contains(err.Error(), "part ended (exit status 3)") || !strings.Contains(err.Error(), "line 6") {
		t.Fatalf("got %v", err)
	}
	if strings.Contains(err.Error(), "line 1\n") {
		t.Errorf("only the last lines belong there, got %v", err)
	}
}

func TestComponentsAreStoppedAndTheStubbornOnesKilled(t *testing.T) {
	running := newFamily(t.TempDir())
	script(t, running, "trap '' TERM; while :; do sleep 0.05; done")
	time.Sleep(100 * time.Millisecond) // the trap must be set
	begin := time.Now()
	running.children[0].stop(200 * time.Millisecond)
	if took := time.Since(begin); took < 200*time.Millisecond || took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	script(t, running, "exec sleep 60")
	running.stop(patience)
}

func TestOnlyTheServerCommandIsKnown(t *testing.T) {
	for _, args := range [][]string{nil, {"agent"}, {"kubectl", "get"}} {
		if err := Main(args, "test", Kubernetes{}); err == nil || !strings.Contains(err.Error(), "is refused") {
			t.Errorf("%q: got %v", args, err)
		}
	}
	if err := Main([]string{"--version"}, "test", Kubernetes{}); err != nil {
		t.Error(err)
	}
}
