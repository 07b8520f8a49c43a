"""The kubelet API of the nested nodes: what `kubectl logs`, `exec`, `attach`, `port-forward` and `cp` end up at.

Served on loopback to the nested API server alone. Streams are passed on to the host API server byte by byte, with the
syncer's own credentials, so no stream protocol is spoken here.
"""
