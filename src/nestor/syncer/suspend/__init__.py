"""A suspended cluster: its Jobs are suspended, its pods end, what is to run waits, and all of it comes back on resume.

Belongs here: what happens to nested objects because of `spec.suspend`. Whether a host pod is made is decided in `pods`.
Nothing is kept in memory that a restart would lose: Jobs carry an annotation, pods without a controller a ConfigMap.
"""
