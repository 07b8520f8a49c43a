"""The kubelet API of nested nodes, whose pods run elsewhere: serves `kubectl logs`, `exec`, `attach`, `port-forward` and `cp`.

It listens on loopback and accepts only an API server. Logs and streams come from the provider that runs the pods; streams are
copied byte by byte, without knowing their protocol. What the provider cannot do gets status 501. The code that creates the server
supplies a function that finds pods.
"""
