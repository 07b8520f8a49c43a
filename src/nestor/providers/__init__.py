"""Places where pods run. `base` is what every one of them promises; each other module is one place.

Belongs here: asking such a place to run, change and end pods, and its answers in the words of `base`. Does not: how a nested
pod is written for another cluster (`nestor.translate`), and any decision about which pods run.
The promises are tested by `tests/conformance/providers`, which any provider can be held to.
"""
