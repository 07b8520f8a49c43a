"""The kubelet API of nodes whose pods run elsewhere: serves `kubectl logs`, `exec`, `attach`, `port-forward` and `cp`.

Logs and streams come from the provider that runs the pods; streams are copied byte by byte, without knowing their protocol. What
the provider cannot do gets status 501. The code that creates the server supplies a function that finds pods, and says who may
call (`auth`): for nested nodes, only an API server on loopback; for virtual nodes, whoever the host's API server lets in.
"""
