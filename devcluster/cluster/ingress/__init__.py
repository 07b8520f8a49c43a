"""The Ingress controller of the embedded cluster: Ingress objects in, the proxy's table out.

`routes` and `tls` decide (pure), `controller` watches the API server, `proxy` tells the proxy. It is a development tool: it
knows what the Ingress specification says, and no annotation of any other controller.
"""
