"""The interLink protocol, as `docs/interlink.openapi.yaml` describes it: for tests of both of its sides.

`description` reads that file, for one hop or both, and checks messages against its schemas. `generated` has schemathesis make
requests and answers from it: the plugin gets the former (`tests/unit/devcluster/plugin/test_protocol.py`), the provider the
latter (`tests/unit/overflow/interlink/test_generated.py`). A backend may refuse a pod that is as described (status 400: no such
image, no room), so the check `positive_data_acceptance` does not hold for `create`.
"""
