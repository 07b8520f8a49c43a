"""The interLink protocol, as `docs/interlink.openapi.yaml` describes it: for tests of both of its sides.

`description` reads that file, for one hop or both, and checks messages against its schemas. Tests that generate requests from the
description for a running API server or plugin belong here; those for the provider are in `tests/unit/providers/interlink`.

With schemathesis, a hop's schema is `schemathesis.openapi.from_dict(load(hop))`; it generates the bodies of GET requests too. A
backend may refuse a pod that is as described (status 400: no such image, no room), so the check `positive_data_acceptance` does
not hold for `create`.
"""
