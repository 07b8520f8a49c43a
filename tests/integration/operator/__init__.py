"""The operator against a real API server and its controllers; pods have no node, tests write what kubelet and syncer would."""
