"""Pods that are the host's to run: what the syncer and virtual nodes have in common.

`translate` builds host objects from nested pods, field by field: pure. `providers` is where pods can run. `kubelet` serves
their logs and streams. To change what the host gets of a field, go to `translate/fields`.
"""
