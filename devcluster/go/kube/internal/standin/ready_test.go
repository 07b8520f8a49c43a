package standin

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"nestor.dev/devcluster/kube/internal/supervisor"
)

// server listens with the stand-in's own certificates, and returns its port.
func server(t *testing.T, at layout, given *Options) (*supervisor.Supervisor, int) {
	t.Helper()
	if err := ensurePKI(at, given); err != nil {
		t.Fatal(err)
	}
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := probe.Addr().(*net.TCPAddr).Port
	probe.Close()
	front, err := supervisor.Start(port, supervisor.Files{
		Certificate: at.tls(publicServing + ".crt"), Key: at.tls(publicServing + ".key"),
		ServerCA: at.tls("server-ca.crt"), ClientCA: at.tls("client-ca.crt"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(front.Close)
	return front, port
}

func TestReadinessIsAskedAtOnceAndThenAtEachInterval(t *testing.T) {
	at, given := prepared(t)
	front, port := server(t, at, given)
	front.Open("token")
	var lock sync.Mutex
	var asked []time.Time
	front.Mount(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		lock.Lock()
		defer lock.Unlock()
		if asked = append(asked, time.Now()); len(asked) < 3 {
			response.WriteHeader(http.StatusInternalServerError)
		}
		if len(request.TLS.PeerCertificates) == 0 || request.URL.Path != "/readyz" {
			t.Errorf("got %s without a certificate", request.URL)
		}
	}))
	const interval = 50 * time.Millisecond
	begin := time.Now()
	if err := waitReady(t.Context(), at, port, interval); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 3 || asked[2].Before(begin.Add(2*interval)) {
		t.Errorf("asked %d times, the last %s after the first", len(asked), asked[len(asked)-1].Sub(begin))
	}
	if readyInterval != 2*time.Second {
		t.Errorf("K3s asks every 2 s, not every %s", readyInterval)
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	at, given := prepared(t)
	_, port := server(t, at, given)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := waitReady(ctx, at, port, time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := waitSocket(ctx, filepath.Join(t.TempDir(), "none")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestADatastoreIsThereWhenItsSocketAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	found := make(chan error, 1)
	go func() { found <- waitSocket(t.Context(), path) }()
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := <-found; err != nil {
		t.Error(err)
	}
}

func TestPartsOfThisProcessEndTogetherAndBeforeTheirDatastore(t *testing.T) {
	running := newFamily(t.TempDir())
	var lock sync.Mutex
	var order []string
	for _, name := range []string{"one", "two"} {
		running.run(name, func(ctx context.Context) error {
			<-ctx.Done()
			lock.Lock()
			defer lock.Unlock()
			order = append(order, name)
			return ctx.Err()
		})
	}
	script(t, running, "trap 'exit 0' TERM; while :; do sleep 0.01; done")
	running.stop(patience)
	slices.Sort(order)
	if !slices.Equal(order, []string{"one", "two"}) {
		t.Errorf("ended: %q", order)
	}
	select {
	case <-running.children[0].done:
	default:
		t.Error("the child must have ended")
	}
}

func TestAStubbornPartDoesNotHoldTheEnd(t *testing.T) {
	running := newFamily(t.TempDir())
	held := make(chan struct{})
	defer close(held)
	running.run("stubborn", func(context.Context) error { <-held; return nil })
	running.stop(20 * time.Millisecond) // returns, or the test times out
	if patience != 5*time.Second {
		t.Errorf("K3s gives its parts 5 s, not %s", patience)
	}
}

func TestTheDeathOfAPartInThisProcessEndsTheWork(t *testing.T) {
	running := newFamily(t.TempDir())
	defer running.stop(patience)
	broken := errors.New("broken")
	running.run("part", func(context.Context) error { return broken })
	if err := running.until(t.Context(), forever); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
