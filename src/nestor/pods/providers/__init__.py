"""Places where pods can run. `base` defines the interface, `errors` what it raises; `host` implements it for the host cluster.
The kinds of backends are in `nestor.overflow`.

Belongs here: asking a place to run, change and end pods, and mapping what it answers to our errors. Does not: translating nested
pods (`nestor.pods.translate`), and deciding which pods run.
`tests/conformance/providers` tests any provider against `base`.
"""
