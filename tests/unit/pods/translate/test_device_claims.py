"""The ResourceClaims of pods, and devices without claims."""

import pytest

from nestor.api import names
from nestor.api.allowances import Devices
from nestor.api.data import read
from nestor.api.objects import Object
from nestor.api.placement import Placement
from nestor.api.policy import Policy
from nestor.pods.translate import device_claims, messages, pod, refusals
from nestor.pods.translate.placement import decide_place
from tests.unit.pods.translate.builders import BASELINE, TARGET, build_pod

GPUS = Policy(devices=Devices(classes=["gpu"]))
CLAIMS = [
    {"name": "own", "resourceClaimName": "card"},
    {"name": "made", "resourceClaimTemplateName": "cards"},
    {"name": "none", "resourceClaimTemplateName": "nothing"},
]
MADE = [{"name": "made", "resourceClaimName": "train-made-x7"}, {"name": "none"}]


def build(statuses: list[Object] | None = None) -> Object:
    """A pod with a claim of its own, one from a template, and one that turns out to be none."""
    used = [{"name": "own", "request": "one"}, {"name": "made"}, {"name": "none"}]
    found = build_pod(container={"resources": {"claims": used, "limits": {"cpu": "1"}}}, resourceClaims=CLAIMS)
    found["status"] = {"resourceClaimStatuses": statuses or []}
    return found


def test_a_pod_waits_for_the_claims_that_are_made_for_it() -> None:
    assert device_claims.find_unmade(build()) == "the ResourceClaim for 'made' from template 'cards'"
    assert device_claims.find_unmade(build(MADE)) is None
    assert device_claims.find_names(build(MADE)) == ["card", "train-made-x7"]


def test_the_host_pod_has_the_copies_by_name_and_no_template() -> None:
    nested = build(MADE)
    space = nested["metadata"]["namespace"]
    spec = pod.build_pod(nested, TARGET, {}, GPUS)["spec"]
    assert spec["resourceClaims"] == [
        {"name": "own", "resourceClaimName": names.host_name("card", space)},
        {"name": "made", "resourceClaimName": names.host_name("train-made-x7", space)},
    ]
    (container,) = spec["containers"]
    assert container["resources"] == {"claims": [{"name": "own", "request": "one"}, {"name": "made"}], "limits": {"cpu": "1"}}


def test_messages_call_claims_as_the_tenant_does() -> None:
    nested = build(MADE)
    words = messages.build_words(nested, TARGET)
    host = names.host_name("card", nested["metadata"]["namespace"])
    assert messages.translate(f'resourceclaim "{host}" not found', words) == 'resourceclaim "card" not found'


def test_without_devices_a_pod_with_claims_is_refused() -> None:
    told = refusals.find_refusals(build(MADE), BASELINE)
    assert told == [
        "`spec.resourceClaims` may not be set: the class allows no devices (`devices.classes`)",
        "`spec.containers[0].resources.claims` may not be set: the class allows no devices (`devices.classes`)",
    ]
    assert refusals.find_refusals(build(MADE), GPUS) == []


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (BASELINE, "the class allows no devices (`devices.classes`)"),
        (Policy(devices=Devices(classes=["fpga"])), "the class allows 'fpga'"),
    ],
)
@pytest.mark.parametrize("side", ["requests", "limits"])
def test_no_device_class_is_had_by_way_of_an_extended_resource(policy: Policy, message: str, side: str) -> None:
    """The host's scheduler would make the claim by itself, for any DeviceClass."""
    resources = {side: {"deviceclass.resource.kubernetes.io/gpu": "1", "example.com/gpu": "1"}}
    nested = build_pod(container={"resources": resources})
    expected = f"`spec.containers[0].resources` may not request devices of DeviceClass 'gpu': {message}"
    assert refusals.find_refusals(nested, policy) == [expected]
    assert refusals.find_refusals(nested, GPUS) == []
    (told,) = refusals.find_refusals(build_pod(resources=resources), policy)
    assert told.startswith("`spec.resources` may not request")


@pytest.mark.parametrize(("mode", "where"), [("Always", "Wait"), ("WhenFull", "Host")])
def test_a_pod_with_claims_never_runs_at_a_backend(mode: str, where: str) -> None:
    placement = read(Placement, {"overflow": {"mode": mode}})
    place = decide_place(build(MADE), placement)
    assert place.where == where
    assert place.reason.endswith("backends have none of the ResourceClaims' devices")
