"""Places where pods can run: `host` is the host cluster, `base` the interface of backends, `errors` what both raise. The kinds of
backends are in `nestor.overflow`.

Belongs here: asking a place to run, change and end pods, and mapping what it answers to our errors. Does not: translating nested
pods (`nestor.pods.translate`), and deciding which pods run.
`tests/conformance/providers` tests any backend against `base`.
"""
