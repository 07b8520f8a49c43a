// Command device-plugin offers a number of devices of an extended resource to the kubelet of its node, as the plugins of
// GPU vendors do. There is nothing behind the devices: a container that gets some finds their names in a variable.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

func main() {
	resource := flag.String("resource", "nvidia.com/gpu", "name of the extended resource")
	count := flag.Int("count", 1, "number of devices")
	folder := flag.String("folder", pluginapi.DevicePluginPath, "folder with the kubelet's socket")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, filepath.Clean(*folder), *resource, *count); err != nil {
		log.Fatal(err)
	}
}
