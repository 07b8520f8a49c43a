package standin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// patience is how long each component gets to end by itself; together they stay within a pod's 30 s.
const patience = 8 * time.Second

// Main is the whole program; it returns when the server was told to stop, or with the reason why it cannot go on.
func Main(args []string, version string) error {
	title := fmt.Sprintf("a stand-in for K3s %s: Kubernetes components behind K3s' command line. A test fixture, NOT K3s", version)
	if len(args) == 1 && args[0] == "--version" {
		fmt.Println("k3s stand-in version " + version + " (" + title + ")")
		return nil
	}
	logf("this is %s", title)
	if len(args) == 0 || args[0] != "server" {
		return fmt.Errorf("command %q is refused: the stand-in knows only `server` and `--version`", strings.Join(args[:min(1, len(args))], ""))
	}
	given, err := parseFlags(args[1:])
	if err != nil {
		return err
	}
	if given, err = withConfigFile(given, ConfigFile); err != nil {
		return err
	}
	options, err := newOptions(given)
	if err != nil {
		return err
	}
	return serve(options)
}

// serve prepares the files, then starts datastore and API server together; the rest waits for the API.
func serve(options *Options) error {
	// A child is killed when the thread that started it ends (Pdeathsig); a locked thread lasts as long as this function.
	runtime.LockOSThread()
	begin := time.Now()
	at := layout{filepath.Join(options.DataDir, "server")}
	if err := prepare(at, options); err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()

	running := family{directory: at.server, ended: make(chan *process, 3)}
	defer running.stop()
	if err := running.start("kine", "kine", kineArgs(at)); err != nil {
		return err
	}
	if err := running.start("kube-apiserver", "kube", apiServerArgs(at, options)); err != nil {
		return err
	}
	if err := running.until(ctx, func(ctx context.Context) error { return waitReady(ctx, at, options.Port) }); err != nil {
		return finish(ctx, err)
	}
	logf("the API is ready after %.1f s", time.Since(begin).Seconds())
	if err := running.start("kube-controller-manager", "kube", controllerManagerArgs(at, options)); err != nil {
		return err
	}
	return finish(ctx, running.until(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil }))
}

// prepare writes everything that the components read.
func prepare(at layout, options *Options) error {
	// The socket of a process that was killed would still be there, and nobody would answer on it.
	if err := os.Remove(filepath.Join(at.server, "kine.sock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := at.create(); err != nil {
		return err
	}
	if err := ensureToken(at, options.Token); err != nil {
		return err
	}
	if err := ensurePKI(at, options); err != nil {
		return err
	}
	return errors.Join(
		writeKubeconfig(at.cred("controller.kubeconfig"), 0o600, at, options.Port, "client-controller"),
		writeKubeconfig(AdminKubeconfig, options.KubeconfigMode, at, options.Port, "client-admin"),
	)
}

// finish turns the end that was asked for into success.
func finish(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		logf("told to stop; ending the components")
		return nil
	}
	return err
}

// family is the running components in the order of their start.
type family struct {
	directory string
	children  []*process
	ended     chan *process
}

func (running *family) start(name, program string, args []string) error {
	child, err := start(name, program, running.directory, args, running.ended)
	if err == nil {
		running.children = append(running.children, child)
	}
	return err
}

// until runs work; a component that ends meanwhile ends it, because the others would only fail in less clear ways.
func (running *family) until(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- work(ctx) }()
	select {
	case err := <-result:
		return err
	case child := <-running.ended:
		return child.obituary()
	}
}

// stop ends the components, the last one first: each needs those before it until its end.
func (running *family) stop() {
	for i := len(running.children) - 1; i >= 0; i-- {
		running.children[i].stop(patience)
	}
}
