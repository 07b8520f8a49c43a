"""Pods: `decide` says what to do about one pair of nested and host pod, the other modules each do one of these things.

Belongs here too: what only pods have, tokens and events and the kubelet API's view of them. Host pods are asked for at a provider
(`nestor.providers`), never at the host's API server. Does not: objects that are no more than copied (`nestor.syncer.copies`).
"""
