"""The runner: installs an app in its nested cluster step by step and records its progress there.

It holds the nested kubeconfig and nothing of the host. Belongs here: waiting for the API, executing a step, its output, the
record. Does not: what a plan means and which state follows which (`nestor.apps.steps`).
"""
