"""The interLink protocol, as `docs/interlink.openapi.yaml` describes it: for tests of both of its sides.

`description` reads that file, for one hop or both, and checks messages against its schemas. Tests that generate requests from the
description, against a plugin, and answers from it, against the provider, belong here too.
"""
