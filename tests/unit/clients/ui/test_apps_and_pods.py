"""Cards of the catalog, the form's offers, and pods by place."""

import base64
from typing import Any

import pytest

from nestor.api import labels
from nestor.clients.ui.models import apps, launch, pods
from nestor.clients.ui.models.launch import Form
from tests.unit.clients.cli.builders import ago, build_job

Object = dict[str, Any]
NESTED: Object = {"templates": []}


def app(name: str = "shop", status: Object | None = None, **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": spec, "status": status or {}}


def test_a_card_has_what_the_catalog_says() -> None:
    commands = {
        "Start": {"name": "Start it", "description": "All of it.", "parameters": {"A": {}}, "nestedkubernetes": NESTED},
        "Batch": {"name": "JARVICE's own"},
    }
    found = apps.build_app(app(appDef={"name": "Web shop", "description": "Sells.", "author": "A. B.", "commands": commands}))
    assert (found.title, found.description, found.author, found.letter) == ("Web shop", "Sells.", "A. B.", "W")
    assert [(item.id, item.title, item.parameters) for item in found.commands] == [("Start", "Start it", {"A": {}})]
    assert found.is_known
    assert not found.icon


def test_what_an_image_only_application_takes_is_not_known() -> None:
    found = apps.build_app(app(image="registry.test/shop:1", status={"commands": [{"id": "Start"}]}))
    assert (found.title, found.commands[0].parameters, found.is_known) == ("shop", None, False)
    assert not apps.build_app(app(image="registry.test/shop:1")).is_known


def test_a_refused_application_says_why() -> None:
    status = {"conditions": [{"type": "Accepted", "status": "False", "message": "`templates` must be set"}]}
    assert apps.build_app(app(status=status)).problem == "`templates` must be set"


def test_an_icon_is_a_picture_and_nothing_else() -> None:
    data = base64.encodebytes(b"<svg/>").decode()
    icon = {"type": "image/svg+xml", "data": data}
    assert apps.read_icon(app(appDef={"image": icon})) == ("image/svg+xml", b"<svg/>")
    assert apps.build_app(app("a/b", appDef={"image": icon})).icon == "/apps/a%2Fb/icon"
    largest, larger = (base64.encodebytes(b"x" * (apps.ICON_BYTES + more)).decode() for more in (0, 1))
    assert apps.read_icon(app(appDef={"image": icon | {"data": largest}}))
    for wrong in ({"type": "text/html"}, {"data": "§"}, {"data": larger}, {"data": 5}, {"type": None}):
        assert apps.read_icon(app(appDef={"image": icon | wrong})) is None
    assert apps.read_icon(app(appDef={"image": "x"})) is None


@pytest.mark.parametrize(
    "definition", [5, [], "x", {"commands": 3, "image": [], "name": {}}, {"commands": {"a": 5, "b": {"parameters": 3}}}]
)
def test_whatever_is_in_a_catalog_has_a_card(definition: Any) -> None:
    assert apps.build_app(app(appDef=definition)).title == "shop"


def test_machines_are_offered_by_class_with_the_usual_one_marked() -> None:
    machines = [{"name": "small"}, {"name": "large", "description": "16 CPUs"}]
    classes: list[Object] = [
        {"metadata": {"name": "zeta"}, "spec": {}},
        {"metadata": {"name": "gpu"}, "spec": {"placement": {"machines": machines}}},
        {"metadata": {"name": "default"}, "spec": {"placement": {"machines": machines, "defaultMachine": "small"}}},
    ]
    found = [(item.name, [(offer.value, offer.label) for offer in item.machines]) for item in launch.offer_classes(classes)]
    assert found == [
        ("default", [("default:small", "small (default)"), ("default:large", "large: 16 CPUs")]),
        ("gpu", [("gpu:", "any machine"), ("gpu:small", "small"), ("gpu:large", "large: 16 CPUs")]),
        ("zeta", [("zeta:", "any machine")]),
    ]


def test_only_machines_that_the_application_takes_are_offered() -> None:
    machines = [
        {"name": "small", "quota": {"cpu": 2, "memory": "4Gi"}},
        {"name": "gpu-a"},
        {"name": "gpu-b", "description": "Two GPUs"},
    ]
    classes: list[Object] = [{"metadata": {"name": "default"}, "spec": {"placement": {"machines": machines}}}]

    def offered(*patterns: str) -> list[str]:
        return [offer.label for offer in launch.offer_classes(classes, patterns)[0].machines]

    small = "small: cpu 2, memory 4Gi"
    assert offered("gpu-*") == ["gpu-a", "gpu-b: Two GPUs"]
    assert offered("*") == offered() == ["any machine", small, "gpu-a", "gpu-b: Two GPUs"]
    assert offered("n0") == offered(), "the job says then that none suits"
    assert apps.build_app(app(appDef={"machines": ["gpu-*", 5, ""]})).machines == ("gpu-*",)
    assert apps.build_app(app(appDef={"machines": "n?"})).machines == ("n?",)


def test_a_form_becomes_a_job() -> None:
    form = Form("mine", "team-a", "gpu:large", "Start", "1.5", "hours")
    assert not form.list_faults()
    assert launch.build_job("shop", form, {"A": "1"}, {"PASSWORD": "x"}, "jane") == {
        "apiVersion": "nestor.dev/v1alpha1",
        "kind": "NestedAppJob",
        "metadata": {"name": "mine", "namespace": "team-a", "annotations": {labels.CREATED_BY: "jane"}},
        "spec": {
            "appRef": {"name": "shop"},
            "command": "Start",
            "className": "gpu",
            "machine": "large",
            "parameters": {"A": "1"},
            "parametersFrom": {"secretRef": {"name": "mine-parameters"}},
            "activeDeadlineSeconds": 5400,
            "suspend": True,
        },
    }
    assert launch.build_job("shop", Form("mine", "team-a"), {}, {}, "")["spec"] == {"appRef": {"name": "shop"}}


@pytest.mark.parametrize(
    ("form", "field"),
    [
        (Form("Mine", "team-a"), "name"),
        (Form("", "team-a"), "name"),
        (Form("a" * 53, "team-a"), "name"),
        (Form("1a", "team-a"), "name"),
        (Form("mine", "../x"), "namespace"),
        (Form("mine", ""), "namespace"),
        (Form("mine", "team-a", limit="0"), "limit"),
        (Form("mine", "team-a", limit="nan"), "limit"),
        (Form("mine", "team-a", limit="1e99"), "limit"),
        (Form("mine", "team-a", limit="1", limit_unit="years"), "limit"),
    ],
)
def test_what_no_job_can_have_is_said_at_its_field(form: Form, field: str) -> None:
    assert list(form.list_faults()) == [field]


def pod(name: str, node: str = "", phase: str = "Running", component: str = "app", **status: Any) -> Object:
    notes = {labels.NESTED_NAME: name, labels.NESTED_NAMESPACE: "default"}
    return {
        "metadata": {
            "name": f"{name}-x",
            "labels": {labels.COMPONENT: component},
            "annotations": notes,
            "creationTimestamp": ago(5),
        },
        "spec": {"containers": [{"name": "main"}]} | ({"nodeName": node} if node else {}),
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": "True"}]} | status,
    }


def test_pods_are_grouped_by_place_and_waiting_ones_say_why() -> None:
    waiting = pod(
        "c", phase="Pending", conditions=[{"type": "PodScheduled", "status": "False", "message": "0/2 nodes have a GPU"}]
    )
    found = [pod("a", "n1"), pod("b", "hpc-big"), waiting, pod("shop-k3s", "n1", component=labels.COMPONENT_SERVER)]
    places = [{"name": "hpc", "running": 1, "reason": "no room here"}]
    grouped = pods.group_pods(found, {"hpc-big": "hpc"}, build_job(pods={"places": places}))
    assert [(place.title, place.why, [item.title for item in place.pods]) for place in grouped] == [
        ("In this cluster", "", ["a"]),
        ("At backend 'hpc'", "no room here", ["b"]),
        ("Waiting for a node", "", ["c"]),
        ("System pods", "", ["shop-k3s"]),
    ]
    assert grouped[2].pods[0].why == "is not scheduled: 0/2 nodes have a GPU"
    assert grouped[2].pods[0].state.mood == "warn"
    assert grouped[0].pods[0].state.word == "running"
    assert grouped[3].pods[0].space == "the cluster itself"


def test_a_pod_that_crashes_is_no_good_one() -> None:
    state = [{"name": "main", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]
    ((place,),) = [pods.group_pods([pod("a", "n1", containerStatuses=state)], {}, build_job())]
    assert (place.pods[0].state.mood, place.pods[0].why) == ("warn", "container 'main': CrashLoopBackOff")
    ((place,),) = [pods.group_pods([pod("a", "n1", conditions=[])], {}, build_job())]
    assert place.pods[0].state.word == "not ready yet"


def test_a_pod_that_has_ended_is_told_by_how() -> None:
    ended = {"state": {"terminated": {"exitCode": 1, "reason": "Error"}}}
    status: Object = {"conditions": [{"type": "Ready", "status": "False"}], "containerStatuses": [{"name": "main"} | ended]}
    failed, done = pod("a", "n1", "Failed", **status), pod("b", "n1", "Succeeded", conditions=[])
    ((place,),) = [pods.group_pods([failed, done], {}, build_job())]
    assert [(item.state.mood, item.state.word) for item in place.pods] == [("bad", "failed"), ("good", "succeeded")]


def test_the_title_is_what_the_catalog_shows_then_the_entrys_then_the_appdefs() -> None:
    definition = {"name": "From the AppDef", "description": "The AppDef's."}
    found = app(status={"title": "As shown"}, title="The entry's", description="The entry's.", appDef=definition)
    assert (apps.build_app(found).title, apps.build_app(found).description) == ("As shown", "The entry's.")
    del found["status"]["title"]
    assert apps.build_app(found).title == "The entry's"
    del found["spec"]["title"], found["spec"]["description"]
    assert (apps.build_app(found).title, apps.build_app(found).description) == ("From the AppDef", "The AppDef's.")
