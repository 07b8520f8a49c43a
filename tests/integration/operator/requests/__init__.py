"""Every request of the operator, recorded: its re-plan is to change none of them (tests/integration/requests).

The operator is a process as in the image; the tests play user, syncer and kubelet. kopf's own requests are seen as well.
"""
