// Command caddy is the caddy web server with only what the embedded cluster's Ingress controller configures: HTTP servers, a
// reverse proxy, and TLS with given certificates. It starts with the JSON configuration of a file; further ones come through
// caddy's admin API.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/caddyserver/caddy/v2"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp"              // servers, matchers, fixed answers
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy" // the way to pods
	_ "github.com/caddyserver/caddy/v2/modules/caddytls"               // certificates of Secrets
)

func main() {
	file := flag.String("config", "", "`file` of the configuration to start with (JSON)")
	flag.Parse()
	if err := run(*file); err != nil {
		fmt.Fprintf(os.Stderr, "caddy: %v\n", err)
		os.Exit(1)
	}
	select {} // Until a signal ends the process: the pods end at the same time, so there is nothing to finish first.
}

func run(file string) error {
	config, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return caddy.Load(config, false)
}
