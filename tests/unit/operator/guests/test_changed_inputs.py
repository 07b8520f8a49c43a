"""A job says which of the inputs that it has copied are other ones by now; a rerun takes them up."""

import base64
import contextlib
import time
from typing import Any

import pytest

from nestor.api import conditions, labels
from nestor.kube import Forbidden, Kind, kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.operator.job.reconcile import JobReconciler
from tests.unit.operator.builders import Object, build_app
from tests.unit.operator.scene import Scene

NEW = "new.yml"
"""A template, a password, and the path of an AppDef's step."""
ENCODED = base64.b64encode(NEW.encode()).decode()
FILES = {"catalog": "nestor-system", "own": "team-a"}


def build_appdef(path: str) -> Object:
    nested = {"templates": [{"name": "web", "type": "kubectl", "path": path}]}
    return {"appkind": "kns", "commands": {"Hello": {"parameters": {"PASSWORD": {}}, "nested_kubernetes": nested}}}


def put(scene: Scene, what: str, text: str = NEW, files: str = "files", **entry: Any) -> None:
    """Write the ConfigMap of the catalog or of the user, the Secret or the entry; or have none of them any more."""
    if what == "secret":
        body = {"type": "Opaque", "data": {"PASSWORD": base64.b64encode(text.encode()).decode()}}
        scene.api.put(kinds.SECRET, body | {"metadata": {"name": "login", "namespace": "team-a"}})
    elif what == "entry":
        templates = {"configMapRef": {"name": files, "namespace": "nestor-system"}}
        found = build_app("shop", **({"image": None, "appDef": build_appdef(text), "templatesFrom": templates} | entry))
        # Later than the job, so that nobody was asked whether he may use it.
        found["metadata"]["creationTimestamp"] = "2026-02-01T00:00:00Z"
        scene.change(kinds.NESTED_APP, found)
    elif what == "nothing":
        scene.api.drop(kinds.CONFIG_MAP, "files", "nestor-system")
        scene.api.drop(kinds.SECRET, "login", "team-a")
        scene.hide(kinds.NESTED_APP, build_app("shop"))
    else:
        scene.api.put(kinds.CONFIG_MAP, {"metadata": {"name": "files", "namespace": FILES[what]}, "data": {"web.yml": text}})


async def start(**spec: Any) -> Scene:
    """A job that has started with all that it copies, from the catalog unless `spec` says otherwise."""
    scene = Scene()
    for what in (*FILES, "secret", "entry"):
        put(scene, what, "old")
    scene.add_job(**({"app": None, "appRef": {"name": "shop"}} | spec), parametersFrom={"secretRef": {"name": "login"}})
    await reconcile(scene, JobReconciler(scene.context))
    return scene


async def reconcile(scene: Scene, reconciler: JobReconciler | None = None, *, rerun: str | None = None) -> tuple[str, str, str]:
    """Condition `Admitted` after a pass, of an operator that has just started if none is given."""
    if reconciler is None:
        scene.restart()
    if rerun is not None:
        scene.settle(metadata=scene.job["metadata"] | {"annotations": {labels.RERUN: rerun}})
    await (reconciler or JobReconciler(scene.context)).reconcile("team-a", "hello")
    scene.settle()
    return scene.said(conditions.ADMITTED)


def list_taken(scene: Scene) -> set[str]:
    """What the job has the new version of."""
    found = {
        "catalog": scene.look(kinds.CONFIG_MAP, "hello-templates")["data"]["web.yml"] == NEW,
        "secret": scene.look(kinds.SECRET, "hello-parameters")["data"]["PASSWORD"] == ENCODED,
        "entry": b'"path": "new.yml"' in base64.b64decode(scene.look(kinds.SECRET, "hello-plan")["data"]["plan.json"]),
    }
    return {what for what, is_new in found.items() if is_new}


OWN = {"app": {"appDef": build_appdef("old"), "templatesFrom": {"configMapRef": {"name": "files"}}}, "appRef": None}


@pytest.mark.parametrize(
    ("spec", "written", "changed"),
    [
        (OWN, {"own": {}}, "ConfigMap 'files'"),
        (OWN, {"catalog": {}, "entry": {}}, ""),
        ({}, {"own": {}}, ""),
        ({}, {"catalog": {}}, "ConfigMap 'files' in namespace 'nestor-system'"),
        ({}, {"secret": {}}, "Secret 'login'"),
        ({}, {"entry": {}}, "NestedApp 'shop'"),
        ({}, {"secret": {}, "entry": {}}, "Secret 'login', NestedApp 'shop'"),
        ({}, {"entry": {"text": "old", "files": "others"}}, "NestedApp 'shop'"),
        ({}, {"entry": {"text": "old", "title": "Shop"}}, ""),
        ({}, {"entry": {"templatesFrom": {}}}, ""),  # cannot be read
        ({}, {"nothing": {}}, ""),
    ],
)
async def test_it_is_told_what_has_changed_and_what_a_user_can_do(spec: Object, written: Object, changed: str) -> None:
    scene = await start(**spec)
    for what, how in written.items():
        put(scene, what, **how)
    status, reason, message = await reconcile(scene)
    assert (status, reason) == ("True", "InputsChanged" if changed else "Accepted")
    remedy = "are not in use: `nestor rerun hello`, or a new value of annotation `nestor.dev/rerun`, takes them up"
    said = f"; later changes to {changed} {remedy}" if changed else ""
    assert message == f"class, version, command and AppDef accepted{said}"
    assert bool(scene.job["status"].get("nextStep")) is bool(changed)
    assert not any(word in str(scene.job["status"]) for word in (NEW, ENCODED))
    assert list_taken(scene) == set()


async def test_a_rerun_takes_everything_up_once() -> None:
    scene = await start()
    reconciler = JobReconciler(scene.context)
    for what in ("catalog", "secret", "entry"):
        put(scene, what)
    assert (await reconcile(scene, reconciler))[1] == "InputsChanged"
    for _ in range(2):
        assert (await reconcile(scene, reconciler, rerun="2"))[1] == "Accepted"
        assert list_taken(scene) == {"catalog", "secret", "entry"}
    put(scene, "secret", "x")
    assert (await reconcile(scene))[1] == "InputsChanged"
    assert list_taken(scene) == {"catalog", "secret", "entry"}
    for _ in range(2):
        assert (await reconcile(scene, reconciler, rerun="3"))[1] == "Accepted"
        assert list_taken(scene) == {"catalog", "entry"}


@pytest.mark.parametrize(
    ("what", "how", "reason"),
    [
        ("entry", {"files": "others"}, conditions.TEMPLATES_NOT_FOUND),  # the copy is of what an earlier entry named
        ("entry", {"text": "/etc/passwd"}, conditions.APPDEF_INVALID),
        ("entry", {"templatesFrom": None, "image": "evil:1"}, conditions.IMAGE_NOT_ALLOWED),
        ("entry", {"templatesFrom": None, "image": "registry.test/hello:2", "appDef": None}, conditions.READING_APPDEF),
        ("entry", {"access": "Permitted"}, conditions.CLASS_NOT_PERMITTED),
        ("entry", {"imagePullSecretName": "missing"}, conditions.PULL_SECRET_NOT_FOUND),
        ("entry", {"templatesFrom": {}}, conditions.APPDEF_INVALID),
        ("nothing", {}, conditions.ADMITTED_REASON),  # it goes on with its copies
    ],
)
async def test_a_rerun_waits_for_what_it_takes_up_to_be_in_order_or_to_be_taken_back(what: str, how: Any, reason: str) -> None:
    scene = await start()
    scene.set_class("Privileged", images={"allowed": ["registry.test"]})
    put(scene, "secret")
    put(scene, what, **how)
    assert (await reconcile(scene, rerun="2"))[1] == reason
    assert (await reconcile(scene, rerun=""))[0] == "True"
    assert list_taken(scene) == set()


@pytest.mark.parametrize("copy", ["app", "templates", "parameters", "plan"])
async def test_a_rerun_has_not_begun_while_the_host_refuses_one_of_its_inputs(copy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = await start()
    reconciler = JobReconciler(scene.context)
    for what in ("catalog", "secret", "entry"):
        put(scene, what)
    apply = scene.api.apply

    async def refuse(kind: Kind, body: Object, **options: Any) -> Any:
        if body["metadata"]["name"] == f"hello-{copy}":
            raise Forbidden(403, "Forbidden", "denied by a webhook")
        return await apply(kind, body, **options)

    monkeypatch.setattr(scene.api, "apply", refuse)
    with contextlib.suppress(Forbidden):
        await reconcile(scene, reconciler, rerun="2")
    scene.settle()
    assert "rerun" not in scene.job["status"]
    monkeypatch.setattr(scene.api, "apply", apply)
    await reconcile(scene, reconciler)
    assert (scene.job["status"]["rerun"], list_taken(scene)) == ("2", {"catalog", "secret", "entry"})


async def test_a_rerun_copies_the_pull_secret_that_a_newer_entry_names() -> None:
    scene = await start()
    reconciler = JobReconciler(scene.context)
    for name in ("a", "b"):
        meta = {"name": name, "namespace": "nestor-system"}
        scene.api.put(kinds.SECRET, {"metadata": meta, "type": "kubernetes.io/dockerconfigjson", "data": {"from": name}})
        put(scene, "entry", name, imagePullSecretName=name)
        await reconcile(scene, reconciler, rerun=name)
        assert scene.look(kinds.SECRET, "hello-pull")["data"] == {"from": name}


async def test_nobody_is_advised_to_rerun_a_job_that_has_ended() -> None:
    scene = await start()
    ended = {"type": "Succeeded", "status": "True", "reason": "Completed", "message": "done"}
    told = [item for item in scene.job["status"]["conditions"] if item["type"] != "Succeeded"]
    scene.settle(status=scene.job["status"] | {"conditions": [*told, ended], "completionTime": "2026-02-01T00:00:00Z"})
    put(scene, "entry")
    assert (await reconcile(scene))[1] == "Accepted"


async def test_users_objects_are_read_once_in_a_while_and_not_when_a_job_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = await start()
    reconciler, clock, asked = JobReconciler(scene.context), time.monotonic, []
    for seconds in (0, 0, RESYNC_SECONDS - 5, RESYNC_SECONDS + 5):
        asked.append(sum(line.endswith(("/files", "/login")) for line in scene.api.asked))
        monkeypatch.setattr(time, "monotonic", lambda later=seconds: clock() + later)
        result = await reconciler.reconcile("team-a", "hello")
        assert 0 < (result.retry_after or 0) <= RESYNC_SECONDS - seconds % RESYNC_SECONDS
    assert asked == [2, 4, 4, 4]
    assert sum(line.endswith(("/files", "/login")) for line in scene.api.asked) == 6
