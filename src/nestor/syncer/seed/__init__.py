"""The seed of a new cluster's datastore: a file per version of Kubernetes, with what all its fresh clusters have alike.

A line is a key of the datastore and its object, with `<uid>` and `<now>` where each cluster has its own. No key, certificate or
address is in it: K3s makes those at its start. `python -m devcluster.seed` makes the files; `nestor.cluster.shape` chooses one.
"""
