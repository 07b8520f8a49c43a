"""The operator with a real API server and controllers; pods have no node, so tests play kubelet and syncer."""
