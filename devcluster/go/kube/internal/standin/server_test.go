package standin

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"nestor.dev/devcluster/kube/internal/supervisor"
)

// TestMain lets this program be kine, as far as a socket goes.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "kine" {
		os.Exit(m.Run())
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	listener, err := net.Listen("unix", socketFile)
	if err != nil {
		panic(err)
	}
	<-ended
	listener.Close()
}

// fakeAPI is ready when it is asked the second time, and has nothing else to say.
type fakeAPI struct{ asked, ready atomic.Int32 }

func (api *fakeAPI) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	if request.URL.Path != "/readyz" {
		http.NotFound(response, request)
		return
	}
	if api.asked.Add(1) < 2 {
		response.WriteHeader(http.StatusInternalServerError)
		return
	}
	api.ready.Store(1)
}

func (api *fakeAPI) run(at layout, options *Options) func(context.Context, []string, int, func(http.Handler)) error {
	return func(ctx context.Context, _ []string, publicPort int, mount func(http.Handler)) error {
		internal, err := supervisor.Start(publicPort+1, supervisor.Files{
			Certificate: at.tls("serving-kube-apiserver.crt"), Key: at.tls("serving-kube-apiserver.key"),
			ServerCA: at.tls("server-ca.crt"), ClientCA: at.tls("client-ca.crt"),
		})
		if err != nil {
			return err
		}
		defer internal.Close()
		internal.Open("")
		internal.Mount(api)
		mount(api)
		<-ctx.Done()
		return ctx.Err()
	}
}

// freePort returns one whose next is free as well.
func freePort(t *testing.T) int {
	t.Helper()
	for {
		first, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		port := first.Addr().(*net.TCPAddr).Port
		if second, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port+1)); err == nil {
			second.Close()
			return port
		}
	}
}

func TestControllersStartOnceTheAPIIsReadyAndAllEndsOnASignal(t *testing.T) {
	programs := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(programs, "kine")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs)
	t.Chdir(t.TempDir())
	port := freePort(t)
	data := t.TempDir()
	given, err := options(t, "--data-dir="+data, "--https-listen-port="+strconv.Itoa(port))
	if err != nil {
		t.Fatal(err)
	}
	given.Kubeconfig = filepath.Join(data, "k3s.yaml")
	api, at := &fakeAPI{}, layout{filepath.Join(data, "server")}
	early, controllers, ended := make(chan bool, 1), make(chan []string, 1), make(chan error, 1)
	go func() {
		ended <- serve(given, Kubernetes{
			APIServer: api.run(at, given),
			ControllerManager: func(ctx context.Context, args []string) error {
				early <- api.ready.Load() == 0
				controllers <- args
				<-ctx.Done()
				return ctx.Err()
			},
		})
	}()
	select {
	case err := <-ended:
		t.Fatalf("ended with %v", err)
	case args := <-controllers:
		if <-early || !strings.Contains(strings.Join(args, " "), "--controllers=*,tokencleaner") {
			t.Errorf("the API was asked %d times before the controllers started with %q", api.asked.Load(), args)
		}
	}
	client, err := localClient(at)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Get("https://127.0.0.1:" + strconv.Itoa(port) + "/ping")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	if response.Body.Close(); string(body) != "pong" {
		t.Errorf("got %q", body)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
		t.Error("nothing may listen after the end")
	}
}
