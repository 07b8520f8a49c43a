"""Where a job's application comes from, what is stored, and what the catalog reports about its entries."""

from dataclasses import replace
from typing import cast

import pytest

from nestor.api import conditions
from nestor.api.nestedapp import NamespacedConfigMapRef
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.kube import Api, Informer, kinds
from nestor.operator.admission.admit import admit
from nestor.operator.admission.app_source import (
    KEY,
    AppSource,
    digest_snapshot,
    dump_snapshot,
    find_newer,
    find_source,
    parse_snapshot,
    read_catalog,
)
from nestor.operator.admission.catalog import build_status
from nestor.operator.admission.identity import JobIdentity, Refused, identify
from nestor.operator.world.trim import TRIMS
from tests.unit.operator.builders import STEPS, Object, build_app, build_job, build_policy, resolve

CLASSES = {"default": build_policy()}
APPDEF: Object = {"commands": {"Hello": {"nested_kubernetes": {"templates": STEPS}}}}
BY_NAME = NestedAppJobSpec.model_validate({"appRef": {"name": "hello"}})


def known(**app: object) -> JobIdentity:
    return identify(build_job(app=app), CLASSES)


def test_a_jobs_own_appdef_has_no_origin_and_is_its_own() -> None:
    """Its templates are in the job's namespace."""
    found = find_source(known(image="a:1", appDef=APPDEF, imagePullSecretName="s"), ())
    assert found == AppSource(app_def=APPDEF, image="a:1", image_pull_secret_name="s")
    templates = find_source(known(appDef=APPDEF, templatesFrom={"configMapRef": {"name": "files"}}), ()).templates_from
    assert templates == NamespacedConfigMapRef(name="files", namespace="team-a")
    assert found.blame("x must be y") == "x must be y"


def test_an_image_without_appdef_is_to_be_read() -> None:
    found = find_source(known(image="a:1"), ())
    assert found.app_def is None
    assert found.origin == "image 'a:1'"
    with pytest.raises(Refused) as refused:
        admit(known(image="a:1"), found)
    assert (refused.value.denial.reason, refused.value.denial.status) == (conditions.READING_APPDEF, "Unknown")


@pytest.mark.parametrize("app", [{}, {"templatesFrom": {"configMapRef": {"name": "files"}}}])
def test_nothing_to_read_an_appdef_from_is_refused(app: Object) -> None:
    with pytest.raises(Refused, match=r"`app\.appDef` must be set when there is no `image`"):
        find_source(known(**app), ())


def test_an_entry_of_the_catalog_is_told_with_its_faults() -> None:
    apps = [build_app("a"), build_app("b", appDef={"commands": {"Hello": {"nested_kubernetes": {}}}})]
    job = build_job(app=None, appRef={"name": "a"})
    assert resolve(job, CLASSES, apps=apps).command == "Hello"
    job["spec"]["appRef"] = {"name": "b"}
    with pytest.raises(Refused, match=r"^NestedApp 'b': `appDef\.commands\.Hello\.nested_kubernetes\.templates` must be set"):
        resolve(job, CLASSES, apps=apps)


@pytest.mark.parametrize(
    ("image", "kept"),
    [
        ({"type": "image/png", "data": "A" * 2_000_000}, {"type": "image/png", "data": ""}),
        ({"type": "image/png", "data": ""}, {"type": "image/png", "data": ""}),
        ("text", "text"),
        (None, None),
    ],
    ids=["big", "empty", "text", "none"],
)
def test_an_icon_is_not_kept(image: object, kept: object) -> None:
    found = read_catalog("a", [build_app("a", appDef=APPDEF | {"image": image})]).app_def
    assert found == APPDEF | {"image": kept}


def test_a_large_entry_is_as_good_as_a_small_one_and_one_that_is_too_large_is_refused() -> None:
    icon, note = {"type": "image/png", "data": "A" * 900_000}, {"note": "y" * 80_000}
    store = Informer(cast(Api, None), kinds.NESTED_APP, trim=TRIMS[kinds.NESTED_APP_JOB])
    store.put(build_app("big", appDef=APPDEF | {"image": icon} | note))
    store.put(build_app("huge", image="a:1", appDef=APPDEF | {"note": "y" * 300_000}))
    assert read_catalog("big", store).app_def == APPDEF | {"image": icon | {"data": ""}} | note
    with pytest.raises(Refused, match=r"NestedApp 'huge': `spec` has \d+ bytes as JSON; at most 262144 are accepted") as refused:
        read_catalog("huge", store)
    assert refused.value.denial.reason == conditions.APPDEF_INVALID


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], "available: none"),
        (["b", "a"], "available: 'a', 'b'"),
        (["helo", "a"], "available: 'a', 'helo'; did you mean 'helo'?"),
        ([f"app-{number:02}" for number in range(25)], "'app-19', … 5 more"),
    ],
)
def test_an_unknown_application_is_refused_with_the_known_ones(names: list[str], said: str) -> None:
    with pytest.raises(Refused) as refused:
        read_catalog("hello", [build_app(name) for name in names])
    assert refused.value.denial.reason == conditions.APP_NOT_FOUND
    assert refused.value.denial.message.startswith("no NestedApp named 'hello'; ")
    assert refused.value.denial.message.endswith(said)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"image": "", "appDef": APPDEF}, "NestedApp 'hello': `spec.image`"),
        ({"appDef": 5}, "NestedApp 'hello': `spec.appDef` must be a dictionary"),
        ({"image": None, "appDef": None}, "NestedApp 'hello': `appDef` must be set when there is no `image`"),
    ],
)
def test_an_entry_that_an_older_crd_let_in_is_refused_with_the_field(spec: Object, message: str) -> None:
    with pytest.raises(Refused) as refused:
        read_catalog("hello", [build_app("hello", **spec)])
    assert refused.value.denial.message.startswith(message)


def reread(source: AppSource, spec: NestedAppJobSpec = BY_NAME) -> AppSource | None:
    """What a later operator makes of the pin."""
    stored = dump_snapshot(source)
    assert parse_snapshot({"data": {KEY: stored}}, spec, None) is None, "the status does not have it"
    assert parse_snapshot({"data": {KEY: stored + " "}}, spec, digest_snapshot(stored)) is None, "somebody has changed it"
    return parse_snapshot({"data": {KEY: stored}}, spec, digest_snapshot(stored))


def test_a_pin_is_read_as_it_was_written() -> None:
    templates = {"configMapRef": {"name": "files", "namespace": "apps"}}
    source = read_catalog("hello", [build_app("hello", image=None, templatesFrom=templates)])
    assert source.templates_from is not None
    assert reread(source) == source
    job = known(image="a:1", imagePullSecretName="s")
    read = AppSource(app_def=APPDEF, image="a:1", image_pull_secret_name="s", origin=find_source(job, ()).origin)
    assert reread(read, job.spec) == read
    shared = read_catalog("hello", [build_app("hello", imagePullSecretName="shared")])
    assert shared.image_pull_secret_name == "shared"
    assert reread(shared) == shared


@pytest.mark.parametrize(("image", "is_newer"), [("a:1", False), ("b:2", True)])
def test_an_appdef_from_an_image_is_as_new_as_the_image(image: str, is_newer: bool) -> None:
    kept = read_catalog("hello", [build_app("hello", image="a:1")])
    job = identify(build_job(app=None, appRef={"name": "hello"}), CLASSES)
    newer = find_newer(job, kept, [build_app("hello", image=image, appDef=None)])
    assert (newer is not None) is is_newer


def test_a_jobs_own_image_is_pulled_with_its_own_secret_whatever_the_pin_says() -> None:
    pinned = AppSource(app_def=APPDEF, image="a:1", image_pull_secret_name="operators", origin="image 'a:1'")
    assert reread(pinned, known(image="a:1").spec) == replace(pinned, image_pull_secret_name=None)


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "[]",
        "{}",
        "null",
        '{"appDef": 1, "image": null, "source": ""}',
        '{"appDef": {}, "image": null, "source": "", "templatesFrom": {"name": 1}}',
        "[" * 100_000,
    ],
)
def test_a_pin_of_another_form_is_none(stored: str) -> None:
    assert parse_snapshot({"data": {KEY: stored}}, BY_NAME, digest_snapshot(stored)) is None


TIME = "2026-01-01T00:00:00Z"
OUTSIDE = {"name": "x", "type": "kubectl", "path": "../y"}
GOOD: Object = {"name": "Start", "description": "Starts it.", "nested_kubernetes": {"templates": STEPS}}


def status_of(app: Object) -> tuple[str, str, Object]:
    """Condition `Accepted`, its message, and the whole status."""
    status = build_status(app, TIME)
    found = conditions.find(status["conditions"], conditions.ACCEPTED)
    assert found is not None
    return found["status"], found["message"], status


def test_a_good_entry_is_accepted_with_its_commands() -> None:
    required = GOOD | {"parameters": {"size": {"type": "INT", "required": True}}}  # that a job has to set it is no fault
    commands = {"Start": required, "Other": {"nestedkubernetes": {"templates": STEPS}}, "Container": {"path": "/bin/x"}}
    app = build_app("a", appDef={"name": "An app", "appkind": "kns", "commands": commands})
    accepted, message, status = status_of(app)
    assert (accepted, message) == ("True", "jobs can run it")
    assert status["commands"] == [
        {"id": "Start", "name": "Start", "description": "Starts it."},
        {"id": "Other", "name": "", "description": ""},
    ]
    assert status["title"] == "An app"
    assert status["observedGeneration"] == 1
    assert status_of(build_app("a", title="Mine"))[2]["title"] == "Mine"


def test_an_image_alone_is_accepted_unread() -> None:
    accepted, message, status = status_of(build_app("a", appDef=None))
    assert accepted == "True"
    assert "is read from the image when a job runs" in message
    assert "commands" not in status


def test_warnings_are_told() -> None:
    accepted, message, _ = status_of(build_app("a", appDef={"commands": {"A": GOOD, "B": GOOD}}))
    assert accepted == "True"
    assert message.count("warning: `appDef.appkind` is not set") == 1


@pytest.mark.parametrize(
    ("spec", "messages"),
    [
        ({"appDef": {}}, ["`appDef.commands` must be set"]),
        ({"appDef": {"commands": {}}}, ["`appDef.commands`"]),
        ({"appDef": {"commands": {"A": {"path": "/bin/true"}}}}, ["`nested_kubernetes`"]),
        ({"appDef": {"commands": {"A": {"nested_kubernetes": {"templates": []}}, "B": {"nested_kubernetes": {}}}}},
         ["command 'A': `templates` must be a list", "`appDef.commands.B.nested_kubernetes.templates` must be set"]),
        ({"appDef": {"commands": {"A": GOOD | {"parameters": {"size": {"type": "INT", "min": "x"}}}}}},
         ["command 'A': `appDef.commands.A.parameters.size.min`"]),
        ({"appDef": "x"}, ["NestedApp 'a': `spec.appDef` must be a dictionary"]),
        ({"appDef": {"commands": {"A": {"nested_kubernetes": {"templates": [OUTSIDE]}}}}},
         ["command 'A': `templates[0].path`", "must not contain '..'"]),
    ],
)  # fmt: skip
def test_a_faulty_entry_is_told_with_its_fields(spec: Object, messages: list[str]) -> None:
    accepted, message, _ = status_of(build_app("a", **spec))
    assert accepted == "False"
    for part in messages:
        assert part in message


def test_an_unchanged_status_is_the_same() -> None:
    app = build_app("a")
    app["status"] = build_status(app, TIME)
    assert build_status(app, "2026-02-02T00:00:00Z") == app["status"]


def test_there_are_no_more_commands_than_the_status_takes() -> None:
    accepted, message, status = status_of(build_app("a", appDef={"commands": {f"c{number}": GOOD for number in range(70)}}))
    assert accepted == "False"
    assert "`appDef.commands`" in message
    assert "commands" not in status
