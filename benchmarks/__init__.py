"""How fast Nestor is, and what it takes: measured side by side in one run, printed, never asserted.

Not part of any test target. They need the binaries of `python -m devcluster.build binaries`, and a machine that does little else.
"""
