package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	kubeletSocket = "kubelet.sock"
	ownSocket     = "nestor-devices.sock"
	// variable tells a container which devices it has got.
	variable = "NESTOR_DEVICES"
	// lookInterval is how often the kubelet's socket is looked at: a restarted kubelet makes a new one and forgets all plugins.
	lookInterval = time.Second
)

// plugin answers the kubelet.
type plugin struct {
	pluginapi.UnimplementedDevicePluginServer
	devices []*pluginapi.Device
	done    <-chan struct{}
}

// run serves the devices until ctx ends, and registers them with each kubelet that appears at the socket in folder.
func run(ctx context.Context, folder, resource string, count int) error {
	place := filepath.Join(folder, ownSocket)
	var known os.FileInfo
	stop := func() {}
	defer func() { stop() }()
	for {
		found, err := os.Stat(filepath.Join(folder, kubeletSocket))
		if err == nil && (known == nil || !os.SameFile(known, found) || !known.ModTime().Equal(found.ModTime())) {
			// A kubelet that starts removes all sockets in its folder, ours too.
			stop()
			if stop, err = serve(ctx, place, count); err != nil {
				return err
			}
			if err = register(ctx, filepath.Join(folder, kubeletSocket), resource); err == nil {
				log.Printf("registered %d devices of %s", count, resource)
				known = found
			} else {
				log.Printf("cannot register: %v", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookInterval):
		}
	}
}

// serve listens at place until the returned function is called.
func serve(ctx context.Context, place string, count int) (func(), error) {
	if err := os.Remove(place); err != nil && !os.IsNotExist(err) {
		return func() {}, err
	}
	listener, err := net.Listen("unix", place)
	if err != nil {
		return func() {}, err
	}
	serving, cancel := context.WithCancel(ctx)
	server := grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(server, &plugin{devices: build(count), done: serving.Done()})
	go func() {
		if err := server.Serve(listener); err != nil {
			log.Printf("the server has ended: %v", err)
		}
	}()
	return func() {
		cancel()
		server.Stop()
	}, nil
}

// register tells the kubelet where the plugin listens.
func register(ctx context.Context, socket, resource string) error {
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = pluginapi.NewRegistrationClient(connection).Register(limited, &pluginapi.RegisterRequest{
		Version: pluginapi.Version, Endpoint: ownSocket, ResourceName: resource,
	})
	return err
}

func build(count int) []*pluginapi.Device {
	devices := make([]*pluginapi.Device, 0, count)
	for index := range count {
		devices = append(devices, &pluginapi.Device{ID: fmt.Sprintf("device-%d", index), Health: pluginapi.Healthy})
	}
	return devices
}

// GetDevicePluginOptions asks for nothing special.
func (p *plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{}, nil
}

// ListAndWatch sends the devices once: they never change.
func (p *plugin) ListAndWatch(_ *pluginapi.Empty, stream pluginapi.DevicePlugin_ListAndWatchServer) error {
	if err := stream.Send(&pluginapi.ListAndWatchResponse{Devices: p.devices}); err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-stream.Context().Done():
	}
	return nil
}

// Allocate names the devices in the container's environment.
func (p *plugin) Allocate(_ context.Context, request *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	response := &pluginapi.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		response.ContainerResponses = append(response.ContainerResponses, &pluginapi.ContainerAllocateResponse{
			Envs: map[string]string{variable: strings.Join(container.DevicesIds, ",")},
		})
	}
	return response, nil
}
