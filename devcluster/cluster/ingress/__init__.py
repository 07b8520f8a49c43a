"""The Ingress controller of the embedded cluster: Ingress objects in, caddy configuration out.

`routes`, `tls` and `caddyfile` decide (pure), `controller` watches the API server and tells caddy. It is a development tool: it
knows what the Ingress specification says, and no annotation of any other controller.
"""
