"""Whatever a backend answers: nothing but the errors of `providers.base`, and nothing but what a kubelet may say of the pod."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestor.api import times
from nestor.overflow.interlink import questions
from nestor.overflow.interlink.build import build_create, build_plugin_create, find_refusals
from nestor.overflow.interlink.statuses import build_status
from nestor.pods.providers.errors import InvalidInput, NotYet, ProviderError, cut
from tests.conformance.interlink.description import find_faults
from tests.unit.overflow.interlink.full_pod import build_full_pod

pytestmark = pytest.mark.slow

Object = dict[str, Any]

NOW = times.read("2026-01-01T12:00:00Z")
POD: Object = {
    "metadata": {"name": "web", "namespace": "shop", "uid": "u", "creationTimestamp": "2026-01-01T10:00:00Z"},
    "spec": {
        "restartPolicy": "OnFailure",
        "containers": [{"name": "app", "image": "x"}],
        "initContainers": [{"name": "prepare"}],
    },
}

scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20))
anything = st.recursive(
    scalars,
    lambda part: st.one_of(st.lists(part, max_size=4), st.dictionaries(st.text(max_size=8), part, max_size=4)),
    max_leaves=12,
)
stamps = st.one_of(st.datetimes().map(lambda time: time.isoformat() + "Z"), st.text(max_size=30), st.none())


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly as it should be."""
    return st.one_of(strategy, strategy, strategy, anything)


states = st.fixed_dictionaries(
    {},
    optional={
        "waiting": maybe(st.fixed_dictionaries({}, optional={"reason": maybe(st.text()), "message": maybe(st.text())})),
        "running": maybe(st.fixed_dictionaries({}, optional={"startedAt": stamps})),
        "terminated": maybe(
            st.fixed_dictionaries(
                {"exitCode": maybe(st.integers(0, 255))},
                optional={"startedAt": stamps, "finishedAt": stamps, "reason": maybe(st.text())},
            )
        ),
    },
)
containers = st.fixed_dictionaries(
    {"name": maybe(st.sampled_from(["app", "prepare", "other"])), "state": maybe(states)},
    optional={
        "lastState": maybe(states),
        "ready": maybe(st.booleans()),
        "started": maybe(st.booleans()),
        "restartCount": maybe(st.integers(0, 9)),
        "image": maybe(st.text()),
        "containerID": maybe(st.text()),
    },
)
entries = st.fixed_dictionaries(
    {"UID": maybe(st.just("u")), "JID": maybe(st.text())},
    optional={"containers": maybe(st.lists(containers, max_size=3)), "initContainers": maybe(st.lists(containers, max_size=3))},
)


@settings(max_examples=300)
@given(told=st.lists(st.lists(maybe(entries), max_size=3), min_size=1, max_size=3), restarts=st.booleans())
def test_statuses_stay_what_an_api_server_accepts(told: list[Any], restarts: bool) -> None:
    pod: Object = POD
    for entry in told:
        try:
            found = questions.read_statuses(json.dumps(entry, allow_nan=False, default=str).encode(), {"u"})
        except (ValueError, ProviderError):
            continue
        if "u" not in found:
            continue
        before, status = pod.get("status") or {}, build_status(pod, found["u"], NOW, restarts=restarts)
        check_status(before, status)
        assert build_status(pod | {"status": status}, found["u"], NOW, restarts=restarts) == status
        pod = pod | {"status": status}


def check_status(before: Object, status: Object) -> None:
    """As described, of the pod's own containers, with times that can be; an end is final."""
    assert status["phase"] in ("Pending", "Running", "Succeeded", "Failed")
    assert before.get("phase") not in ("Succeeded", "Failed") or status == before
    for group, name in (("containerStatuses", "app"), ("initContainerStatuses", "prepare")):
        (container,) = status[group]
        assert container["name"] == name
        assert not find_faults({"$ref": "#/components/schemas/ContainerStatus"}, container)
        assert len(container["state"]) == 1
        for state in (*container["state"].values(), *container["lastState"].values()):
            moments = [state[key] for key in ("startedAt", "finishedAt") if key in state]
            assert moments == sorted(moments)
            assert all("2026-01-01T10:00:00Z" <= moment <= "2026-01-01T12:00:00Z" for moment in moments)
    json.dumps(status, allow_nan=False).encode()


@settings(max_examples=200)
@given(text=st.text(), limit=st.integers(2, 50))
def test_texts_are_short_and_can_be_written(text: str, limit: int) -> None:
    found = cut(text, limit)
    assert len(found) <= limit
    found.encode()
    assert not any(char in found for char in "\x00\x1b\r")


@settings(max_examples=200)
@given(data=st.data())
def test_pods_are_carried_or_refused_by_name(data: st.DataObject) -> None:
    pod, inputs = build_full_pod()
    container = pod["spec"]["containers"][0]
    for part, fields in (
        (pod["spec"], ("volumes", "imagePullSecrets")),
        (container, ("env", "envFrom", "command", "volumeMounts")),
    ):
        name = data.draw(st.sampled_from(fields))
        value = part[name]
        del value[data.draw(st.integers(0, len(value) - 1))]
    kept = {volume["name"] for volume in pod["spec"]["volumes"]}
    container["volumeMounts"] = [item for item in container["volumeMounts"] if item["name"] in kept]
    assert find_refusals(pod) == []
    request, message = None, ""
    try:
        request = build_create(pod, inputs)
    except (InvalidInput, NotYet) as error:
        message = error.message
    if request is None:
        assert "`" in message or "'" in message
        return
    for name, sent in (("CreateRequest", request), ("PluginCreateRequest", build_plugin_create(request))):
        body = json.loads(json.dumps(sent))
        assert not find_faults({"$ref": f"#/components/schemas/{name}"}, body)
