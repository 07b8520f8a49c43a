"""The kubelet API of nodes whose pods run elsewhere: where `kubectl logs`, `exec`, `attach`, `port-forward` and `cp` end up.

Served on loopback, to an API server alone. Logs and streams are the provider's that runs the pods; streams are passed on byte
by byte, so no stream protocol is spoken here. What a provider cannot do is answered with 501. Which pods there are is the
caller's to say.
"""
