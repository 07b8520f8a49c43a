package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// kubelet is the part of one that plugins talk to.
type kubelet struct {
	pluginapi.UnimplementedRegistrationServer
	requests chan *pluginapi.RegisterRequest
}

func (k *kubelet) Register(_ context.Context, request *pluginapi.RegisterRequest) (*pluginapi.Empty, error) {
	k.requests <- request
	return &pluginapi.Empty{}, nil
}

// start listens at the socket as a kubelet that has just started: all sockets that were there are gone.
func start(t *testing.T, folder string) (*kubelet, func()) {
	t.Helper()
	for _, name := range []string{kubeletSocket, ownSocket} {
		if err := os.Remove(filepath.Join(folder, name)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("unix", filepath.Join(folder, kubeletSocket))
	if err != nil {
		t.Fatal(err)
	}
	found := &kubelet{requests: make(chan *pluginapi.RegisterRequest, 8)}
	server := grpc.NewServer()
	pluginapi.RegisterRegistrationServer(server, found)
	go server.Serve(listener)
	return found, server.Stop
}

// wait for a registration.
func (k *kubelet) wait(t *testing.T) *pluginapi.RegisterRequest {
	t.Helper()
	select {
	case request := <-k.requests:
		return request
	case <-time.After(30 * time.Second):
		t.Fatal("nobody registered")
		return nil
	}
}

func connect(t *testing.T, folder string) pluginapi.DevicePluginClient {
	t.Helper()
	connection, err := grpc.NewClient("unix://"+filepath.Join(folder, ownSocket), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return pluginapi.NewDevicePluginClient(connection)
}

func TestEachKubeletIsToldOfTheDevices(t *testing.T) {
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, folder, "example.com/gpu", 2) }()

	first, stop := start(t, folder)
	request := first.wait(t)
	if request.ResourceName != "example.com/gpu" || request.Version != "v1beta1" || request.Endpoint != ownSocket {
		t.Fatalf("registered as %v", request)
	}
	check(t, connect(t, folder))
	stop()

	second, stop := start(t, folder)
	defer stop()
	second.wait(t)
	check(t, connect(t, folder))

	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// check that there are two devices, and that a container learns which of them it has got.
func check(t *testing.T, client pluginapi.DevicePluginClient) {
	t.Helper()
	stream, err := client.ListAndWatch(t.Context(), &pluginapi.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	listed, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if len(listed.Devices) != 2 || listed.Devices[0].Health != pluginapi.Healthy || listed.Devices[0].ID == listed.Devices[1].ID {
		t.Fatalf("listed %v", listed.Devices)
	}
	wanted := &pluginapi.ContainerAllocateRequest{DevicesIds: []string{"device-0", "device-1"}}
	answer, err := client.Allocate(t.Context(), &pluginapi.AllocateRequest{ContainerRequests: []*pluginapi.ContainerAllocateRequest{wanted}})
	if err != nil {
		t.Fatal(err)
	}
	if got := answer.ContainerResponses[0].Envs[variable]; got != "device-0,device-1" {
		t.Fatalf("the container was told %q", got)
	}
}
