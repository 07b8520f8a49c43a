"""The embedded cluster's enforcer of NetworkPolicies: a test fixture, so that what Nestor's policies promise can be tested.

One process per node turns the policies into nftables rules of its node's network namespace. A pod's network is ready only once
its rules are in place: the CNI plugin `policies` (`devcluster/go/kube/cmd/policies`), the last one of the chain, waits for them.

`objects` reads what matters of API objects; `selectors`, `world` and `rules` decide (pure); `ruleset` writes for `nft`; `watch`
and `server` say what happens, `store` remembers it, and `enforcer` holds them together.
"""
