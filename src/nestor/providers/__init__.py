"""Places where pods run. `base` is what every one of them promises; each other module is one place.

Belongs here: asking such a place to run, change and end pods, and turning its answers into the errors of `base`. Does not: how a
nested pod is written for another cluster (`nestor.translate`), and any decision about which pods run.
`tests/conformance/providers` tests the promises of `base` for any provider.
"""
