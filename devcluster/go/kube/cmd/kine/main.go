// Command kine is K3s' default datastore: etcd's API in front of a sqlite database. It is kine with one of its drivers and without its
// metrics; the other drivers bring clients and servers of six more databases.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/k3s-io/kine/pkg/drivers"
	"github.com/k3s-io/kine/pkg/drivers/generic"
	_ "github.com/k3s-io/kine/pkg/drivers/sqlite"
	"github.com/k3s-io/kine/pkg/server"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// Kine's own defaults.
const (
	etcdVersion    = "3.6.11"
	notifyInterval = 5 * time.Second
	maxReceived    = 2 << 20
	maxSent        = 1<<31 - 1
)

func main() {
	endpoint := flag.String("endpoint", "", "the database: `sqlite://FILE?PARAMETERS`")
	address := flag.String("listen-address", "", "where to listen: `unix://FILE`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, *endpoint, strings.TrimPrefix(*address, "unix://")); err != nil {
		fmt.Fprintln(os.Stderr, "kine: "+err.Error())
		os.Exit(1)
	}
}

// run serves until the context ends; only then it closes the database.
func run(ctx context.Context, endpoint, socket string) error {
	database, closeDatabase := context.WithCancel(context.Background())
	var users sync.WaitGroup
	defer users.Wait()
	defer closeDatabase()
	_, backend, err := drivers.New(database, &users, &drivers.Config{
		Endpoint:             endpoint,
		ConnectionPoolConfig: generic.ConnectionPoolConfig{MaxIdle: 20, MaxIdleTime: 2 * time.Minute},
		CompactTimeout:       5 * time.Second, CompactMinRetain: 1000, CompactBatchSize: 1000, PollBatchSize: 500,
	})
	if err != nil {
		return err
	}
	if err := backend.Start(database); err != nil {
		return err
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	served := grpc.NewServer(
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 2 * time.Hour, Timeout: 20 * time.Second}),
		grpc.MaxRecvMsgSize(maxReceived), grpc.MaxSendMsgSize(maxSent),
	)
	server.New(backend, "unix", notifyInterval, etcdVersion).Register(served)
	stopping := context.AfterFunc(ctx, func() {
		time.AfterFunc(2*time.Second, served.Stop)
		served.GracefulStop()
	})
	defer stopping()
	return served.Serve(listener)
}
