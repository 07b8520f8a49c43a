"""Suspending a cluster: its Jobs are suspended, its pods end, new pods wait, and everything comes back on resume.

Belongs here: what `spec.suspend` does to nested objects. Whether a host pod is created is decided in `pods`.
A restart loses nothing: Jobs carry an annotation, and pods without a controller are stored in a ConfigMap.
"""
