"""Templates with parameters, as each type of step uses them; every rendering is a real process."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from nestor.apps.runner import guard, rendering
from nestor.apps.runner.attempt import AttemptError, StepError
from nestor.apps.runner.command import Outcome
from nestor.apps.steps import Plan
from nestor.apps.steps.plan import Helm
from tests.unit.apps.runner.test_steps import Stage, folder  # noqa: F401 - a fixture

PARAMETERS = {"replicas": 3, "name": "web", "hosts": ["a", "b"]}


@pytest.fixture
def stage(folder: Path) -> Stage:  # noqa: F811
    """kubectl and helm show the files that they get."""
    for name in ("kubectl", "helm"):
        (folder / "bin" / name).write_text(
            "#!/bin/sh\necho $(basename $0) $1\n"
            "for word; do if [ -d $word ]; then cat $word/*; elif [ -f $word ]; then cat $word; fi; done\n"
        )
    return Stage(folder, parameters=PARAMETERS, facts={"name": "hello"})


async def show(stage: Stage, **step: Any) -> list[str]:
    outcome = await stage.run(render=True, **step)
    assert outcome.is_success, outcome.message
    return stage.lines[1:]


async def test_a_manifest_is_rendered_and_the_image_is_left_as_it_is(stage: Stage) -> None:
    stage.write(web_yml="replicas: {{ replicas }} of {{ job.name }}\n")
    assert await show(stage, type="kubectl", path="web.yml") == ["replicas: 3 of hello"]
    assert (stage.place.templates / "web.yml").read_text() == "replicas: {{ replicas }} of {{ job.name }}\n"


async def test_so_are_the_manifests_of_a_folder_and_no_other_file(stage: Stage) -> None:
    stage.write(all__a_yml="{{ name }} a\n", all__b_yaml="{{ name }} b\n")
    stage.write(all__note_txt="{{ nonsense }}\n", all__sub__c_yml="{{ nonsense }}\n")
    assert await show(stage, type="kubectl", path="all") == ["web a", "web b"]


async def test_so_is_what_a_url_holds(stage: Stage) -> None:
    stage.downloader.content = b"name: {{ name }}\n"
    lines = await show(stage, type="kubectl", format="url", path="https://example.com/a.yml")
    assert lines[1:] == ["name: web"]


async def test_so_is_a_kustomization_with_the_folders_beside_it_at_hand(stage: Stage) -> None:
    stage.write(
        base__kustomization_yaml="# {{ not_rendered }}\n", over__kustomization_yaml="resources: [../base]\n# {{ name }}\n"
    )
    (stage.place.templates / "over" / "picture.png").write_bytes(b"\x89PNG\xff{{")
    assert (await show(stage, type="kustomize", path="over"))[:2] == ["resources: [../base]", "# web"]


async def test_so_are_a_releases_values(stage: Stage) -> None:
    stage.write(web__Chart_yaml="name: {{ chart }}\n", more_yaml="replicas: {{ replicas }}\n")
    release = Helm(release="web", values={"host": "{{ hosts[0] }}", "count": 1}, values_files=("more.yaml",))
    lines = await show(stage, type="helm", path="web", helm=release)
    assert lines[-2:] == ["replicas: 3", json.dumps({"host": "a", "count": 1})]


async def test_so_is_a_script_whose_first_line_counts_afterwards(stage: Stage) -> None:
    text = "#!/bin/{{ 'ba' if replicas > 2 else '' }}sh\necho {{ hosts | join(',') }} ${BASH_VERSION:+bash}\n"
    stage_lines = stage.lines
    outcome = await stage.run(render=True, type="custom", cmd=base64.b64encode(text.encode()).decode())
    assert (outcome, stage_lines) == (Outcome(0, "a,b bash"), ["a,b bash"])


async def test_without_render_braces_are_text(stage: Stage) -> None:
    stage.write(web_yml="a: '{{ replicas }}'\n")
    assert (await stage.run(type="kubectl", path="web.yml")).is_success
    assert stage.lines[1:] == ["a: '{{ replicas }}'"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a: 1\nb: {{ replica }}\n", "template 'web.yml', line 2: 'replica' is undefined"),
        (b"name: \xff\xfe", "template 'web.yml' is not UTF-8 text (byte 6), so it cannot be rendered"),
    ],
)
async def test_what_cannot_be_rendered_fails_at_once_with_its_place(stage: Stage, content: bytes, said: str) -> None:
    (stage.place.templates / "web.yml").write_bytes(content)
    with pytest.raises(StepError) as refused:
        await stage.run(type="kubectl", path="web.yml", render=True)
    assert said in str(refused.value)


async def test_windows_line_ends_stay(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"a: {{ name }}\r\nb: 1\r\n")
    plan = Plan(hash="h", steps=(), parameters=PARAMETERS)
    files = [rendering.File(str(tmp_path / "in"), str(tmp_path / "out"), "in")]
    await rendering.render(plan, files, tmp_path, 20, guard.Limits())
    assert (tmp_path / "out").read_bytes() == b"a: web\r\nb: 1\r\n"


async def attack(stage: Stage, text: str, limit: float = 60) -> str:
    (stage.place.work / "in").write_text(text)
    files = [rendering.File(str(stage.place.work / "in"), str(stage.place.work / "out"), "in")]
    with pytest.raises((StepError, AttemptError)) as refused:
        await rendering.render(stage.plan, files, stage.place.work, limit, guard.Limits())
    return str(refused.value)


ALL_MEMORY = "template 'in' needs more than 256 MiB of memory"
DOUBLING = "{% set a = a ~ a %}" * 60


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ 'x' * 10**9 }}", ALL_MEMORY),
        ("{{ 10**9 * hosts }}", ALL_MEMORY),
        ("{{ '{:999999999}'.format(1) }}", ALL_MEMORY),
        ("{{ '%999999999d' % 1 }}", ALL_MEMORY),
        ("{{ name.center(10**9) }}", ALL_MEMORY),
        ("{{ name | indent(10**9, true) }}", ALL_MEMORY),
        ("{% set a = 'x' %}" + DOUBLING + "{{ a }}", ALL_MEMORY),
        ("{% set a = 'x' %}" + DOUBLING.replace("~", "+") + "{{ a }}", ALL_MEMORY),
        ("{% set a = 'xx' %}" + "{% set a = a | replace('x', a) %}" * 9, ALL_MEMORY),
        ("{% set a = ['x' * 100000] %}" + "{% set a = [a, a] %}" * 60 + "{{ a | tojson }}", ALL_MEMORY),
        ("{{ 2 ** 20000 }}", "Exceeds the limit (4300 digits) for integer string conversion"),
        ("{{ range(10**6) }}", "Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000)."),
        ("{% for a in range(9999) %}" + "x" * 1000 + "{% endfor %}", "it becomes longer than 1048576 characters"),
        ("{{ name }}" + "x" * 2**20, "it becomes longer than 1048576 characters"),
        ("{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "template 'in' is nested too deeply"),
        ("{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}", "template 'in' is nested too deeply"),
        ("{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}", "template 'in' is nested too deeply"),
        ("{{ " + "1 + " * 9000 + "1 }}", "template 'in' is nested too deeply"),
    ],
)
async def test_what_grows_has_an_end(stage: Stage, text: str, message: str) -> None:
    assert message in await attack(stage, text)


@pytest.mark.parametrize(
    "text", ["{% set all = range(99999) %}" + "{% for a in all %}" * 5 + "{% endfor %}" * 5, "{{ 7 ** (10 ** 8) }}"]
)
async def test_what_takes_for_ever_is_ended_and_a_failed_attempt(stage: Stage, text: str) -> None:
    assert await attack(stage, text, 1) == "the templates cannot be rendered: timed out after 1 s, stopped"


async def test_a_script_too_is_not_rendered_for_an_hour(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "SECONDS_LIMIT", 0)
    assert "timed out after 0 s" in await attack(stage, "a", 3600)
