package standin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"nestor.dev/devcluster/kube/internal/supervisor"
)

// patience is how long everything together gets to end by itself, as in K3s; a pod has that much when it is deleted.
const patience = 5 * time.Second

// agentWarning is K3s' own for servers without an agent whose egress selector is disabled.
const agentWarning = "Webhooks and apiserver aggregation may not function properly without an agent"

// Kubernetes is what runs in this process, as it does in K3s. Each part runs until its context ends.
type Kubernetes struct {
	// APIServer hands out its handler as soon as that can answer; publicPort is the one that the cluster's clients use.
	APIServer         func(ctx context.Context, args []string, publicPort int, mount func(http.Handler)) error
	ControllerManager func(ctx context.Context, args []string) error
}

// Main is the whole program; it returns when the server was told to stop, or with the reason why it cannot go on.
func Main(args []string, version string, parts Kubernetes) error {
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
	logf("warning: %s", agentWarning)
	return serve(options, parts)
}

// serve starts in K3s' order: its own listener, the datastore, the API server; the rest waits for the API.
func serve(options *Options, parts Kubernetes) error {
	// A child is killed when the thread that started it ends (Pdeathsig); a locked thread lasts as long as this function.
	runtime.LockOSThread()
	begin := time.Now()
	at := layout{filepath.Join(options.DataDir, "server")}
	token, err := prepare(at, options)
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	pause(ctx, startPause)
	front, err := supervisor.Start(options.Port, supervisor.Files{
		Certificate: at.tls(publicServing + ".crt"), Key: at.tls(publicServing + ".key"),
		ServerCA: at.tls("server-ca.crt"), ClientCA: at.tls("client-ca.crt"),
	})
	if err != nil {
		return err
	}
	running := newFamily(at.server)
	defer end(ctx, running, front)
	if err := running.start("kine", "kine", kineArgs(at)); err != nil {
		return err
	}
	if err := running.until(ctx, func(ctx context.Context) error { return waitSocket(ctx, socketFile) }); err != nil {
		return finish(ctx, err)
	}
	front.Open(token)
	running.run("kube-apiserver", func(ctx context.Context) error {
		return parts.APIServer(ctx, apiServerArgs(at, options), options.Port, front.Mount)
	})
	ready := func(ctx context.Context) error { return waitReady(ctx, at, options.internalPort(), readyInterval) }
	if err := running.until(ctx, ready); err != nil {
		return finish(ctx, err)
	}
	logf("the API was found ready after %.1f s", time.Since(begin).Seconds())
	running.run("kube-controller-manager", func(ctx context.Context) error {
		return parts.ControllerManager(ctx, controllerManagerArgs(at, options))
	})
	running.run("k3s", func(ctx context.Context) error { return tend(ctx, at, options) })
	return finish(ctx, running.until(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil }))
}

// end stops everything, no sooner than K3s if it was told to.
func end(ctx context.Context, running *family, front *supervisor.Supervisor) {
	begin := time.Now()
	running.stop(patience)
	front.Close()
	if ctx.Err() != nil {
		time.Sleep(time.Until(begin.Add(stopLeast)))
	}
}

// prepare writes everything that the components read, and returns the token.
func prepare(at layout, options *Options) (string, error) {
	if err := at.create(); err != nil {
		return "", err
	}
	if err := os.Chdir(at.server); err != nil {
		return "", err
	}
	// The socket of a process that was killed would still be there, and nobody would answer on it.
	if err := os.Remove(socketFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	token, err := ensureToken(at, options.Token)
	if err != nil {
		return "", err
	}
	if err := ensurePKI(at, options); err != nil {
		return "", err
	}
	return token, errors.Join(
		writeKubeconfig(at.cred("controller.kubeconfig"), 0o600, at, options.internalPort(), "client-controller"),
		writeKubeconfig(at.cred("supervisor.kubeconfig"), 0o600, at, options.internalPort(), "client-supervisor"),
		writeKubeconfig(options.Kubeconfig, options.KubeconfigMode, at, options.Port, "client-admin"),
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
