"""Pods: `decide` chooses what to do about a nested pod and its host pod; each of the other modules does one of those things.

Belongs here too: what only pods have, such as tokens, events and the kubelet API's view of them. All changes of host pods go
through a provider (`nestor.pods.providers`), never to the host API server. Does not: objects that are merely copied
(`nestor.syncer.copies`).
"""
