"""The kubelet API of nodes whose pods run elsewhere: where `kubectl logs`, `exec`, `attach`, `port-forward` and `cp` end up.

Served on loopback, to an API server alone. Streams are passed on byte by byte to the API server that runs the pods, with
our own credentials, so no stream protocol is spoken here. Which pods there are is its caller's to say.
"""
