"""What the caches keep: all that somebody reads, and nothing else of what users can make large."""

import copy
import json
import sys
import zlib
from typing import Any, cast

import pytest

from nestor.api import conditions, labels, pod_status
from nestor.api.contracts.vnode import CLIENT_SIGNER, REQUEST_LIMIT
from nestor.cluster.exposure.exposed import has_ready_endpoint
from nestor.cluster.exposure.host_claims import HostClaim, find_foreign, hosts_of
from nestor.kube import Api, Change, Informer, kinds, pages
from nestor.operator.admission.identity import Refused, identify
from nestor.operator.backends.certificates import Known, decide_request
from nestor.operator.backends.decide import read_node
from nestor.operator.backends.nodes import find_change, is_of
from nestor.operator.backends.process import account_of
from nestor.operator.oneshot import lacks_image_volume
from nestor.operator.world.context import Cache
from nestor.operator.world.kept import OVERSIZED, SPEC_LIMIT, find_fault, read_spec
from nestor.operator.world.trim import CUT, LIST_LIMIT, OBJECT_LIMIT, OWN, TRIMS, trim_object
from tests.unit.operator.backends.builders import GPU, build_backend, build_live, build_process, want
from tests.unit.operator.builders import Object, build_job, build_policy
from tests.unit.operator.scene import Scene

WIDE: list[Any] = [[] for _ in range(480_000)]
META: Object = {
    "name": "x",
    "namespace": "team-a",
    "uid": "u",
    "resourceVersion": "7",
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "managedFields": [{"manager": "kubectl"}],
    "annotations": {"note": "x" * 1000, labels.RERUN: "1"},
    "labels": {"own": "x", labels.JOB_UID: "1"},
}


def size(value: object) -> int:
    """Bytes that a value takes in memory, with all that it holds."""
    if isinstance(value, dict):
        return sys.getsizeof(value) + sum(size(key) + size(item) for key, item in value.items())
    return sys.getsizeof(value) + (sum(map(size, value)) if isinstance(value, list) else 0)


@pytest.mark.parametrize(
    "job",
    [
        build_job(),
        build_job(parameters={"a": [1, {"b": "\ud800 ü"}]}),
        {"metadata": META, "spec": {"appRef": {"name": "shop"}, "parameters": {}}},
        {"metadata": META, "spec": {"app": {}, "className": "default"}},
        {"metadata": META, "spec": {"app": "no dictionary"}},
        {"metadata": META, "spec": {}},
    ],
)
def test_a_jobs_spec_is_read_as_it_was_written(job: Object) -> None:
    before = copy.deepcopy(job)
    kept = TRIMS[kinds.NESTED_APP_JOB](job)
    assert job == before
    assert read_spec(kept) == job["spec"] == read_spec(job)
    assert TRIMS[kinds.NESTED_APP_JOB](kept) is kept
    assert "managedFields" not in kept["metadata"]
    assert "note" not in kept["metadata"].get("annotations", {})


def test_the_icon_of_an_app_def_is_not_kept_and_does_not_count() -> None:
    job = build_job()
    job["spec"]["app"]["appDef"]["image"] = {"type": "image/png", "data": "A" * 2 * SPEC_LIMIT}
    kept = TRIMS[kinds.NESTED_APP_JOB](job)
    assert size(kept) < 10_000
    assert read_spec(kept)["app"]["appDef"]["image"] == {"type": "image/png", "data": ""}
    assert identify(kept, {"default": build_policy()}).spec.app


@pytest.mark.parametrize("icon", ["icon.png", {"data": 5}, {"data": None}, None, []])
def test_an_icon_that_is_none_is_kept_for_the_message_about_it(icon: object) -> None:
    job = build_job(app={"appDef": {"image": icon}})
    assert read_spec(TRIMS[kinds.NESTED_APP_JOB](job)) == job["spec"]


@pytest.mark.parametrize("place", ["parameters", "appDef"])
def test_a_wide_job_is_a_stub_and_refused(place: str) -> None:
    job = build_job(**{"parameters": {"a": WIDE}} if place == "parameters" else {"app": {"appDef": {"a": WIDE}}})
    kept = TRIMS[kinds.NESTED_APP_JOB](job)
    assert size(kept) < 10_000
    assert kept["spec"]["className"] == "default"
    with pytest.raises(
        Refused, match=rf"`spec` has {kept[OVERSIZED]} bytes as JSON; at most {SPEC_LIMIT} are accepted"
    ) as refused:
        identify(kept, {"default": build_policy()})
    assert refused.value.denial.reason == conditions.APPDEF_INVALID


def test_what_is_just_small_enough_takes_no_more_memory_than_its_text() -> None:
    job = build_job(parameters={"a": WIDE[:80_000]})
    assert size(job) > 4_000_000
    kept = TRIMS[kinds.NESTED_APP_JOB](job)
    assert size(kept) < 10_000
    assert identify(kept, {"default": build_policy()}).spec.parameters == {"a": WIDE[:80_000]}
    random = zlib.compress(json.dumps(list(range(40_000))).encode())
    assert size(TRIMS[kinds.NESTED_APP_JOB](build_job(parameters={"a": random.hex()}))) < 2 * SPEC_LIMIT


@pytest.mark.parametrize("trim", TRIMS.values(), ids=[kind.plural for kind in TRIMS])
@pytest.mark.parametrize(
    "broken",
    [
        {"spec": "boom", "status": "x", "endpoints": 5},
        {"spec": [1], "status": {"conditions": [1], "run": 7}, "endpoints": "x"},
        {"metadata": META | {"labels": "x", "finalizers": 3}},
        {"metadata": META | {"labels": ["x"], "annotations": 1, "ownerReferences": {"a": 1}}},
    ],
    ids=["texts", "lists", "labels", "annotations"],
)
def test_nothing_that_an_object_contains_ends_its_reader(trim: pages.Trim, broken: Object) -> None:
    kept = trim({"kind": "X", "metadata": META} | broken)
    assert [kept["metadata"][key] for key in ("name", "namespace", "uid", "resourceVersion")] == ["x", "team-a", "u", "7"]
    assert trim(kept) == kept


@pytest.mark.parametrize("trim", [TRIMS[kind] for kind in OWN], ids=[kind.plural for kind in OWN])
def test_what_cannot_be_trimmed_is_a_stub_that_says_so_and_can_still_be_deleted(trim: pages.Trim) -> None:
    meta = META | {"labels": [labels.JOB], "finalizers": [labels.FINALIZER, "example.com/x"], "deletionTimestamp": "z"}
    kept = trim({"metadata": meta, "spec": {"className": "restricted"}, "status": {"conditions": []}})
    said = find_fault(kept)
    assert said is not None
    assert said.startswith("it cannot be read: AttributeError: ")
    assert (kept["spec"], kept["status"]) == ({"className": "restricted"}, {"conditions": []})
    assert kept["metadata"]["finalizers"] == [labels.FINALIZER]
    assert kept["metadata"]["deletionTimestamp"] == "z"
    assert trim(kept) is kept


WORDS = [f"w{number}" for number in range(60_000)]
LARGE_METADATA: dict[str, Object] = {
    "labels": {"labels": dict.fromkeys(WORDS, "") | {labels.JOB_UID: "1"}},
    "our labels": {"labels": {f"nestor.dev/{word}": "" for word in WORDS} | {labels.JOB_UID: "1"}},
    "annotations": {"annotations": {f"nestor.dev/{word}": "" for word in WORDS}},
    "finalizers": {"finalizers": [f"example.com/{word}" for word in WORDS] + [labels.FINALIZER]},
    "owners": {
        "ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": word} for word in WORDS]
        + [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "mine", "controller": True}]
    },
}


@pytest.mark.parametrize("large", LARGE_METADATA)
@pytest.mark.parametrize("trim", TRIMS.values(), ids=[kind.plural for kind in TRIMS])
def test_metadata_is_kept_as_far_as_it_is_read(trim: pages.Trim, large: str) -> None:
    meta = META | {"labels": {labels.JOB_UID: "1"}} | LARGE_METADATA[large]
    kept = trim({"metadata": meta, "spec": {"className": "restricted"}, "ports": [], "endpoints": []})
    assert size(kept) < 10_000
    assert kept["metadata"]["labels"] == {labels.JOB_UID: "1"}
    assert find_fault(kept) is None
    if large == "finalizers":
        assert (kept["metadata"]["finalizers"], kept["metadata"][CUT]) == ([labels.FINALIZER], True)
    if large == "owners":
        assert [owner["uid"] for owner in kept["metadata"]["ownerReferences"]] == ["mine"]
    assert trim(kept) == kept


@pytest.mark.parametrize("trim", TRIMS.values(), ids=[kind.plural for kind in TRIMS])
def test_finalizers_and_owners_of_the_usual_number_are_kept_as_they_are(trim: pages.Trim) -> None:
    own: Object = {"finalizers": ["a.test/b", labels.FINALIZER], "ownerReferences": [{"uid": str(n)} for n in range(9)]}
    kept = trim({"metadata": META | own})
    assert {key: kept["metadata"][key] for key in own} == own
    assert CUT not in kept["metadata"]
    assert len(json.dumps(own)) < LIST_LIMIT


def test_a_clusters_spec_is_kept_whatever_its_tenant_has_recorded() -> None:
    steps = [{"name": f"s{number}", "state": "Failed", "message": "x" * 32_000} for number in range(7)]
    spec = {"className": "restricted", "kubernetesVersion": "v1.33", "image": "k3s"}
    status = {"policy": {"podSecurity": "Baseline"}, "suspended": True}
    kept = TRIMS[kinds.NESTED_CLUSTER](
        {"metadata": META, "spec": spec, "status": status | {"run": {"hash": "h", "steps": steps}}}
    )
    assert kept["spec"] == spec
    assert {key: kept["status"][key] for key in status} == status
    assert [step["name"] for step in kept["status"]["run"]["steps"]] == [step["name"] for step in steps]
    assert {len(step["message"]) for step in kept["status"]["run"]["steps"]} == {5000}
    assert find_fault(kept) is None
    assert TRIMS[kinds.NESTED_CLUSTER](kept) is kept


def test_a_catalog_entry_is_kept_without_its_icon() -> None:
    app_def = {"name": "x", "image": {"type": "image/png", "data": "A" * 800_000}, "commands": {"S": {"x": "y" * 80_000}}}
    whole: Object = {"metadata": META, "spec": {"title": "Shop", "appDef": app_def}, "status": {"title": "Shop"}}
    before = copy.deepcopy(whole)
    kept = TRIMS[kinds.NESTED_APP_JOB](whole)
    assert whole == before
    assert size(kept) < 10_000
    assert find_fault(kept) is None
    assert read_spec(kept) == {"title": "Shop", "appDef": app_def | {"image": {"type": "image/png", "data": ""}}}
    assert kept["status"] == {"title": "Shop"}
    assert TRIMS[kinds.NESTED_APP_JOB](kept) is kept


def test_of_a_class_all_that_it_says_is_kept() -> None:
    spec = {"network": {"allow": [f"10.{number}.0.0/16" for number in range(20_000)]}}
    assert TRIMS[kinds.NESTED_CLASS]({"metadata": META, "spec": spec})["spec"] == spec


def test_a_store_keeps_the_trimmed_object() -> None:
    store = Informer(cast(Api, None), kinds.NESTED_APP_JOB, trim=TRIMS[kinds.NESTED_APP_JOB])
    store.put({"metadata": META, "spec": {"parameters": {"a": WIDE}}})
    assert size(store.get("x", "team-a")) < 10_000
    assert all(informer.trim is not None for informer in Cache(cast(Api, None)).informers.values())


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
def test_what_a_watch_brings_is_trimmed_like_what_a_list_brings(kind: str) -> None:
    seen: list[Change] = []
    informer = Informer(cast(Api, None), kinds.SERVICE, trim=trim_object)
    informer.on_change(seen.append)
    informer._take({"type": "ADDED", "object": {"metadata": META}})
    informer._take({"type": kind, "object": {"metadata": META | {"resourceVersion": "8"}}})
    assert all(change.latest["metadata"]["annotations"] == {labels.RERUN: "1"} for change in seen)
    assert len(seen) == 2


async def test_a_job_that_is_too_large_to_be_kept_is_refused_and_not_written_but_for_its_status() -> None:
    """Each write of it brings all of it back."""
    scene = Scene()
    scene.change(kinds.NESTED_APP_JOB, build_job(parameters={"a": WIDE}))
    await scene.run()
    assert [line for line in scene.api.asked if "nestedappjobs" in line and "hello/status" not in line] == []
    assert scene.said(conditions.ADMITTED)[:2] == ("False", conditions.APPDEF_INVALID)


STATUS: Object = {
    "phase": "Failed",
    "reason": "Evicted",
    "message": "m" * 9000,
    "conditions": [
        {"type": "PodScheduled", "status": "False", "message": "no node"},
        {"type": "Ready", "status": "False"},
        {"type": "example.com/gate", "status": "x" * 1000},
    ],
    "containerStatuses": [
        {
            "name": "runner",
            "image": "x",
            "imageID": "y",
            "state": {"terminated": {"exitCode": 3, "finishedAt": "2026-01-01T00:00:00Z", "message": "w" * 9000}},
        },
        {"name": "side", "image": "z", "state": {"waiting": {"reason": "ErrImagePull", "message": "denied"}}},
        {
            "name": "again",
            "image": "x",
            "ready": True,
            "state": {"running": {}},
            "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
        },
    ],
}
POD: Object = {
    "metadata": META | {"labels": {"app": "x", labels.COMPONENT: "runner"}, "annotations": {labels.PLAN_HASH: "h", "n": "x"}},
    "spec": {
        "terminationGracePeriodSeconds": 7,
        "containers": [{"name": "runner", "env": [{"name": "A", "value": "x" * 100_000}]}],
        "volumes": [{"name": "a", "emptyDir": {}}, {"name": "app", "image": {"reference": "x:1"}}],
    },
    "status": STATUS,
}


def test_of_our_own_pods_what_decisions_read_is_kept() -> None:
    kept = TRIMS[kinds.POD](POD)
    assert size(kept) < 20_000
    for read in (
        pod_status.find_first_waiting,
        pod_status.find_unschedulable,
        pod_status.find_starved,
        pod_status.is_ready,
        pod_status.is_terminal,
    ):
        assert read(kept) == read(POD)
    assert pod_status.find_end(kept)[:2] == (3, "2026-01-01T00:00:00Z")
    assert not lacks_image_volume(kept)
    assert kept["spec"]["terminationGracePeriodSeconds"] == 7
    assert kept["metadata"]["annotations"] == {labels.PLAN_HASH: "h"}
    assert kept["metadata"]["labels"] == {labels.COMPONENT: "runner"}
    assert TRIMS[kinds.POD](kept) == kept


def test_of_the_applications_pods_only_the_phase_is_kept() -> None:
    pod = POD | {"metadata": POD["metadata"] | {"labels": {labels.COMPONENT: labels.COMPONENT_APP}}}
    kept = TRIMS[kinds.POD](pod)
    assert kept["status"] == {"phase": "Failed", "reason": "Evicted"}
    assert size(kept) < 4000


def ingress(*hosts: str, **own: str) -> Object:
    """An Ingress with much else."""
    backend = {"service": {"name": "x", "port": {"number": 80}}}
    rules = [{"host": host, "http": {"paths": [{"path": "/", "backend": backend}]}} for host in hosts]
    annotations = {"kubernetes.io/ingress.class": "nginx", "snippet": "x" * 200_000}
    meta = META | {"labels": own, "annotations": annotations}
    return {"metadata": meta, "spec": {"ingressClassName": "nginx", "rules": rules}}


def test_very_many_hosts_are_kept_as_text_and_found_in_it() -> None:
    hosts = [f"h{number}.jobs.test" for number in range(20_000)]
    kept = TRIMS[kinds.INGRESS](ingress(*hosts))
    assert size(kept) < 20 * len(hosts)
    assert hosts_of(kept) == set(hosts)
    assert TRIMS[kinds.INGRESS](kept) == kept
    mine = [HostClaim(host, "shop", "team-b", "2", "2026-01-01T00:00:00Z") for host in ("h77.jobs.test", "77.jobs.test")]
    assert find_foreign(mine, [kept], {}, "nginx").keys() == {"h77.jobs.test"}


def test_our_own_ingress_is_kept_whole_unless_it_cannot_be_ours() -> None:
    own = {labels.COMPONENT: labels.COMPONENT_EXPOSURE}
    whole = ingress("a.test", **own)
    assert "snippet" not in TRIMS[kinds.INGRESS](whole)["metadata"]["annotations"]
    del whole["metadata"]["annotations"]["snippet"]
    kept = TRIMS[kinds.INGRESS](whole)
    assert (kept["spec"], kept["metadata"]["annotations"]) == (whole["spec"], whole["metadata"]["annotations"])


@pytest.mark.parametrize(
    "endpoints",
    [
        [],
        [{"addresses": ["10.0.0.1"]}],
        [{"addresses": ["10.0.0.1"], "conditions": {"ready": False}}, {"addresses": ["10.0.0.2"], "conditions": {"ready": True}}],
        [{"addresses": ["10.0.0.1"], "conditions": {"ready": False}}],
        [{"addresses": [f"10.0.0.{number}"], "targetRef": {"name": "x" * 200}} for number in range(200)],
    ],
)
def test_of_a_slice_one_ready_endpoint_is_kept(endpoints: list[Object]) -> None:
    whole = {"metadata": META, "ports": [{"name": "http", "port": 80}, {"port": 81}], "endpoints": endpoints}
    kept = TRIMS[kinds.ENDPOINT_SLICE](whole)
    assert has_ready_endpoint([kept]) is has_ready_endpoint([whole])
    assert [port.get("name") for port in kept["ports"]] == ["http", None]
    assert size(kept) < 4000
    assert TRIMS[kinds.ENDPOINT_SLICE](kept) == kept


def test_of_a_large_object_with_our_label_only_the_head_is_kept() -> None:
    small: Object = {"metadata": META, "spec": {"ports": [{"port": 80}]}}
    assert trim_object(small)["spec"] == small["spec"]
    assert trim_object(small)["metadata"]["labels"] == META["labels"]
    large = trim_object({"metadata": META, "data": "x" * OBJECT_LIMIT})
    assert large["metadata"]["labels"] == {labels.JOB_UID: "1"}
    assert "data" not in large


def test_of_a_virtual_node_what_it_is_compared_with_is_kept() -> None:
    node = build_live(annotations={"other": "x" * 1000})
    node["metadata"]["managedFields"] = [{"manager": "x"}]
    node["spec"] |= {"unschedulable": True, "podCIDR": "10.0.0.0/24"}
    node["status"] |= {"images": [{"names": ["x" * 1000]}] * 50, "capacity": {"cpu": "4"}}
    node["status"]["conditions"] += [{"type": "MemoryPressure", "status": "False"}]
    kept = TRIMS[kinds.NODE](node)
    assert size(kept) < 8_000
    assert TRIMS[kinds.NODE](kept) == kept
    wanted = want(GPU)
    assert find_change(kept, wanted) == find_change(node, wanted)
    assert is_of(kept, build_backend())
    assert read_node(kept, "a", None) == read_node(node, "a", None)
    assert kept["spec"]["unschedulable"] is True


def test_of_the_process_of_a_backend_the_addresses_are_kept_too() -> None:
    assert TRIMS[kinds.POD](build_process())["status"]["podIPs"] == [{"ip": "10.1.2.3"}]
    assert "podIPs" not in TRIMS[kinds.POD](POD | {"status": STATUS | {"podIPs": [{"ip": "10.1.2.3"}]}})["status"]


def test_a_certificate_request_is_kept_with_what_it_asks_for() -> None:
    asked: Object = {"request": "x", "signerName": "s", "username": "u", "usages": ["a"], "expirationSeconds": 600}
    request = {"metadata": META, "spec": asked | {"groups": ["g"], "extra": {"a": ["b"]}}, "status": {}}
    kept = TRIMS[kinds.CERTIFICATE_REQUEST](request)
    assert kept["spec"] == asked
    assert TRIMS[kinds.CERTIFICATE_REQUEST](kept) == kept


@pytest.mark.parametrize(
    "status", [{"conditions": [{"type": "Denied", "message": "x" * 9000}]}, {"certificate": "x" * 9000}], ids=["denied", "issued"]
)
def test_large_requests_are_refused_and_not_kept(status: Object) -> None:
    """Whoever has stolen the token of a backend's process may ask as often as he likes."""
    account = account_of("link", "nestor-system")
    asked: Object = {"request": "x" * 60_000, "signerName": CLIENT_SIGNER, "username": account, "usages": ["any"] * 900}
    request: Object = {"metadata": META | {"annotations": {"a": "x" * 60_000}}, "spec": asked}
    known = Known({account: "link"})
    kept = TRIMS[kinds.CERTIFICATE_REQUEST](request)
    assert size(kept) < REQUEST_LIMIT + 4_000
    assert decide_request(kept, known) == decide_request(request, known)
    assert decide_request(kept, known).answer == "Deny"
    answered = TRIMS[kinds.CERTIFICATE_REQUEST](request | {"status": status})
    assert size(answered) < 4_000
    assert decide_request(answered, known).answer == "Ignore"
    assert TRIMS[kinds.CERTIFICATE_REQUEST](answered) == answered
