"""Parameters from a Secret: checked, copied, and seen by nobody who may not read Secrets."""

import base64
import datetime
import json

import pytest

from nestor.api import conditions
from nestor.api.times import now, write
from nestor.apps.steps import Plan
from nestor.kube import kinds
from tests.unit.operator.builders import Object, build_pod
from tests.unit.operator.scene import HOME, Scene

SECRET = "correct-horse-battery"
PARAMETERS: Object = {"PASSWORD": {"required": True, "variable": True}, "USER": {"value": "admin"}, "PORT": {"type": "INT"}}
STEPS = [
    {"name": "static", "type": "kubectl", "path": "static.yml"},
    {"name": "rendered", "type": "kubectl", "path": "web.yml", "render": True},
    {"name": "seed", "type": "custom", "cmd": base64.b64encode(b"echo $PASSWORD").decode()},
]


@pytest.fixture
def scene() -> Scene:
    """A job with a command that wants a password."""
    made = Scene()
    commands = {"Hello": {"parameters": PARAMETERS, "nested_kubernetes": {"templates": STEPS}}}
    made.add_job(app={"image": "a:1", "appDef": {"commands": commands}}, parametersFrom={"secretRef": {"name": "login"}})
    return made


def put_secret(scene: Scene, kind: str = "Opaque", **values: str) -> None:
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    meta = {"name": "login", "namespace": "team-a"}
    scene.api.put(kinds.SECRET, {"metadata": meta, "type": kind, "data": data})


async def reconcile(scene: Scene) -> Object:
    """A pass of an operator that has just started; condition `Admitted` afterwards."""
    scene.restart()
    await scene.run()
    return conditions.find(scene.settle()["status"]["conditions"], conditions.ADMITTED) or {}


def plan_of(scene: Scene) -> Plan:
    """What the runner gets."""
    found = scene.look(kinds.SECRET, "hello-plan")
    return Plan.model_validate_json(base64.b64decode(found["data"]["plan.json"]))


async def test_it_reaches_the_runner_and_nothing_that_is_no_secret(scene: Scene) -> None:
    put_secret(scene, PASSWORD=SECRET, PORT="8080")
    assert (await reconcile(scene))["status"] == "True"
    assert plan_of(scene).parameters == {"PASSWORD": SECRET, "USER": "admin", "PORT": 8080}
    assert plan_of(scene).environment == {"PASSWORD": SECRET}
    assert ("pods", HOME, "hello-run") not in scene.api.objects, "it would wait for the server"
    scene.show(
        kinds.POD, build_pod("hello-k3s-0", namespace=HOME, status={"conditions": [{"type": "PodScheduled", "status": "True"}]})
    )
    await scene.run()
    seen = {key: item for key, item in scene.api.objects.items() if key[0] != "secrets"}
    assert ("pods", HOME, "hello-run") in seen
    encoded = base64.b64encode(SECRET.encode()).decode()
    assert not any(word in json.dumps(item) for item in seen.values() for word in (SECRET, encoded))


async def test_hashes_which_all_may_see_do_not_tell_a_guessed_value(scene: Scene) -> None:
    hashes = []
    for _ in range(2):
        put_secret(scene, PASSWORD=SECRET)
        await reconcile(scene)
        hashes.append([step.hash for step in plan_of(scene).steps])
        scene.api.drop(kinds.SECRET, "login", "team-a")
        scene.api.drop(kinds.SECRET, "hello-parameters", HOME)
    (static, rendered, seed), (static_again, rendered_again, seed_again) = hashes
    assert static == static_again
    assert rendered != rendered_again
    assert seed != seed_again


async def test_what_the_job_says_itself_takes_precedence(scene: Scene) -> None:
    put_secret(scene, PASSWORD=SECRET, USER="root")
    scene.edit(parameters={"USER": "me"})
    await reconcile(scene)
    assert plan_of(scene).parameters == {"PASSWORD": SECRET, "USER": "me"}


async def test_a_job_keeps_the_values_it_started_with_as_long_as_it_has_its_namespace(scene: Scene) -> None:
    put_secret(scene, PASSWORD=SECRET)
    await scene.run()
    put_secret(scene, PASSWORD="another")
    for expected in (SECRET, "another"):
        scene.api.asked.clear()
        await scene.run()
        assert plan_of(scene).parameters["PASSWORD"] == expected
        assert ("GET secrets team-a/login" in scene.api.asked) is (expected == "another")
        scene.api.drop(kinds.SECRET, "hello-parameters", HOME)
        scene.api.drop(kinds.NAMESPACE, HOME)
        scene.context.applier.forget(HOME)


@pytest.mark.parametrize(
    ("kind", "values", "said"),
    [
        ("", {}, "`spec.parametersFrom`: no Secret 'login' in namespace 'team-a'"),
        (
            "kubernetes.io/service-account-token",
            {"PASSWORD": SECRET},
            "`spec.parametersFrom`: Secret 'login' in namespace 'team-a' has type 'kubernetes.io/service-account-token'; it must "
            "be Opaque",
        ),
        ("Opaque", {}, "`spec.parameters.PASSWORD` must be set"),
        ("Opaque", {"PASSWORD": "x", "OTHER": SECRET}, "`spec.parametersFrom`: key 'OTHER' is unknown; the command has: "),
        ("Opaque", {f"k{number}": SECRET for number in range(257)},
         "`spec.parametersFrom`: Secret 'login' in namespace 'team-a' has 257 keys; at most 256 are accepted"),
        ("Opaque", {"PASSWORD": SECRET * 20_000},
         "`spec.parametersFrom`: Secret 'login' in namespace 'team-a' has 420008 bytes; at most 262144 are accepted"),
        ("Opaque", {"PASSWORD": "x", "PORT": SECRET}, "`spec.parametersFrom`: key 'PORT' has no value of type INT"),
    ],
)  # fmt: skip
async def test_what_is_wrong_with_it_is_told_without_its_value_until_it_is_corrected(
    scene: Scene, kind: str, values: dict[str, str], said: str
) -> None:
    if kind:
        put_secret(scene, kind, **values)
    admitted = await reconcile(scene)
    assert (admitted["status"], admitted["reason"]) == ("False", "ParametersInvalid")
    assert admitted["message"].startswith(said)
    assert SECRET not in admitted["message"]
    assert scene.api.look(kinds.SECRET, "hello-parameters", HOME) is None
    put_secret(scene, PASSWORD=SECRET)
    assert (await reconcile(scene))["status"] == "True"


@pytest.mark.parametrize(("seconds", "least", "most"), [(0, 5, 5), (20, 20, 30), (4000, 60, 60)])
async def test_a_job_that_stays_refused_is_looked_at_less_and_less_often(
    scene: Scene, seconds: float, least: float, most: float
) -> None:
    put_secret(scene, OTHER="x")
    admitted = await reconcile(scene)
    admitted["lastTransitionTime"] = write(now() - datetime.timedelta(seconds=seconds))
    scene.record(conditions=[admitted])
    delay = (await scene.run()).retry_after
    assert delay is not None
    assert least <= delay <= most


async def test_a_value_that_is_no_text_is_named_by_its_key(scene: Scene) -> None:
    meta = {"name": "login", "namespace": "team-a"}
    data = {"PASSWORD": base64.b64encode(b"\xff\xfe").decode()}
    scene.api.put(kinds.SECRET, {"metadata": meta, "type": "Opaque", "data": data})
    said = "`spec.parametersFrom`: key 'PASSWORD' of Secret 'login' in namespace 'team-a' is not UTF-8 text"
    assert (await reconcile(scene))["message"] == said
