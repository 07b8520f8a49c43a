"""Where pods may run: the host's API server takes what the rules make of them, and its quota counts GPUs by name."""

from nestor.api.objects import Object
from nestor.kube import kinds
from tests.integration.syncer.conftest import Allow
from tests.integration.syncer.pods import build_pod, condition
from tests.integration.syncer.world import NODE, World
from tests.waiting import until

TOLERATION = {"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
RULES: Object = {
    "nodeSelector": {"pool": "batch"},
    "schedulers": ["default-scheduler", "fluence"],
    "extendedResources": [
        {"name": "example.com/gpu", "tolerations": ["example.com/gpu:NoSchedule"], "nodeSelector": {"gpus": "yes"}}
    ],
    "overflow": {"backends": [{"name": "hpc"}, {"name": "cloud", "weight": 80}]},
}
GPU = {"resources": {"limits": {"example.com/gpu": "1"}}}


def keys(pod: Object) -> set[str]:
    """The taints that a host pod tolerates."""
    return {item["key"] for item in pod["spec"]["tolerations"]}


async def test_the_host_takes_all_that_the_rules_make_of_a_pod(world: World, space: str, allow: Allow) -> None:
    await allow(placement=RULES)
    own = {"key": "zone", "operator": "In", "values": ["a"]}
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [own]}]}}
    nested = await world.nested.create(
        kinds.POD, build_pod(space, container=GPU, schedulerName="fluence", affinity={"nodeAffinity": terms})
    )
    spec = (await world.host_pod(nested))["spec"]
    assert spec["schedulerName"] == "fluence"
    assert "nodeSelector" not in spec  # what is demanded of the host's own nodes is in their term
    affinity = spec["affinity"]["nodeAffinity"]
    required = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [term["matchExpressions"][0] for term in required] == [own] * 3
    assert [item["key"] for item in required[0]["matchExpressions"]] == ["zone", "nestor.dev/backend", "gpus", "pool"]
    assert [item["weight"] for item in affinity["preferredDuringSchedulingIgnoredDuringExecution"]] == [100, 25, 40]
    tolerations = [item for item in spec["tolerations"] if not item["key"].startswith("node.kubernetes.io/")]
    assert tolerations[0] == TOLERATION
    assert [item["value"] for item in tolerations[1:]] == ["hpc", "cloud"]


async def test_a_pod_that_waits_is_made_anew_when_the_rules_change_and_one_with_a_node_is_not(
    world: World, space: str, allow: Allow
) -> None:
    nested = await world.nested.create(kinds.POD, build_pod(space, container=GPU))
    first = await world.host_pod(nested)
    assert "example.com/gpu" not in keys(first)
    await allow(placement=RULES)
    second = await until(
        lambda: world.host.find(kinds.POD, first["metadata"]["name"], world.namespace),
        lambda found: found and found["metadata"]["uid"] != first["metadata"]["uid"],
    )
    assert "example.com/gpu" in keys(second)
    await world.schedule(second)
    await world.nested_pod(nested, lambda pod: pod["spec"].get("nodeName") == NODE)
    await allow(placement=None)
    # What comes after the change has no rules; what was there before it is left alone.
    later = await world.nested.create(kinds.POD, build_pod(space, "later"))
    assert "affinity" not in (await world.host_pod(later))["spec"]
    now = await world.host.get(kinds.POD, second["metadata"]["name"], world.namespace)
    assert now["metadata"]["uid"] == second["metadata"]["uid"]
    assert not now["metadata"].get("deletionTimestamp")


async def test_a_quota_counts_gpus_by_name_and_the_pod_says_so(world: World, space: str) -> None:
    # The pods of other tests, which are still there, have none of these.
    own = {"resources": {"limits": {"example.com/own-gpu": "1"}}}
    hard = {"requests.example.com/own-gpu": "1"}
    quota = {"metadata": {"name": "gpus", "namespace": world.namespace}, "spec": {"hard": hard}}
    await world.host.create(kinds.RESOURCE_QUOTA, quota)
    two = {"name": "app", "image": "example/web:1", "resources": {"limits": {"example.com/own-gpu": "2"}}}
    await world.refuses(kinds.POD, {"spec": {"containers": [two]}})
    first = await world.nested.create(kinds.POD, build_pod(space, "first", container=own))
    await world.host_pod(first)
    second = await world.nested.create(kinds.POD, build_pod(space, "second", container=own))
    refused = await world.nested_pod(second, lambda pod: condition(pod, "PodScheduled").get("reason") == "PodRefused")
    message = condition(refused, "PodScheduled")["message"]
    assert "exceeded quota: gpus, requested: requests.example.com/own-gpu=1, used: requests.example.com/own-gpu=1" in message
    plain = await world.nested.create(kinds.POD, build_pod(space, "plain"))
    await world.host_pod(plain)
    await world.host.patch(
        kinds.RESOURCE_QUOTA, "gpus", world.namespace, {"spec": {"hard": {"requests.example.com/own-gpu": "2"}}}
    )
    await world.host_pod(second)
    await world.host.delete(kinds.RESOURCE_QUOTA, "gpus", world.namespace)
