from typing import Any

import pytest

from nestor.apps.steps import Helm
from tests.unit.apps.steps.builders import Object, build, chart, faults, faults_of, nested, read, template


def helm(**changes: Any) -> Helm:
    found = read(chart(**changes)).helm
    assert found is not None
    return found


def test_a_chart_of_the_image_is_its_path() -> None:
    step = read(chart(path="charts/web-1.0.tgz", namespace="web"))
    assert (step.type, step.path, step.namespace) == ("helm", "charts/web-1.0.tgz", "web")
    assert step.helm == Helm(release="release", wait=True, create_namespace=True)


@pytest.mark.parametrize(
    "remote",
    [
        {"chart": "oci://registry.test:5000/charts/web"},
        {"chart": "oci://registry.test/charts/web", "version": "^1.2"},
        {"chart": "https://charts.test/web-1.0.tgz"},
        {"chart": "web", "repo": "https://charts.test/stable", "version": "1.2.3-rc.1+b"},
        {"chart": "web", "repo": "http://charts.test", "version": ">=1.0, <2"},
    ],
)
def test_a_remote_chart_is_an_oci_reference_an_archive_or_a_name_in_a_repository(remote: Object) -> None:
    found = helm(path=None, **remote)
    assert {key: getattr(found, key) for key in remote} == remote


def test_everything_else_may_be_set() -> None:
    found = helm(
        release="kubeai",
        values={"a": {"b": [1, None, "x"]}},
        values_files=["a.yml", "b/c.yml"],
        wait=False,
        create_namespace="false",
    )
    assert found == Helm(
        release="kubeai",
        values={"a": {"b": [1, None, "x"]}},
        values_files=("a.yml", "b/c.yml"),
        wait=False,
        create_namespace=False,
    )
    assert helm(values_files="a.yml").values_files == ("a.yml",)


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("helmdeploy", "helmdeploy"),
        ("Deploy KubeAI!", "deploy-kubeai"),
        ("--x--", "x"),
        ("x" * 60, "x" * 53),
        ("安装", "release-e8f88f"),
        ("a" * 52 + " b", "a" * 52),
    ],
)
def test_the_release_is_named_like_the_step(name: str, release: str) -> None:
    assert helm(name=name).release == release


def test_no_two_steps_get_the_same_release_by_chance() -> None:
    plan = build(chart(name="web"), chart(name="Web"), chart(name="web!"), chart(name="web"))
    releases = [step.helm.release for step in plan.steps if step.helm]
    assert releases[0] == "web"
    assert len(set(releases)) == 4
    assert all(release.startswith("web-") for release in releases[1:4])


@pytest.mark.parametrize(
    ("first", "second", "namespace"),
    [({}, {}, "default"), ({"namespace": "default"}, {}, "default"), ({"namespace": "apps"}, {"namespace": "apps"}, "apps")],
)
def test_a_release_that_would_replace_an_earlier_steps_is_refused(first: Object, second: Object, namespace: str) -> None:
    said = faults(nested(chart(name="web", **first), template(), chart(name="again", release="web", **second)))
    assert said == [
        f"`templates[2].release` of step 'again' must not be 'web': step 'web' installs a release of that name in namespace "
        f"'{namespace}', which this one would replace"
    ]


def test_releases_of_one_name_in_two_namespaces_are_two() -> None:
    plan = build(chart(name="a", release="web"), chart(name="b", release="web", namespace="apps"), chart(name="web"))
    assert [step.helm.release for step in plan.steps if step.helm][:2] == ["web", "web"]
    assert plan.steps[2].helm
    assert plan.steps[2].helm.release.startswith("web-")


EITHER = "chart` or `path` must be set, but not both: a remote chart, or one in /templates of the image"
REFERENCE = "chart` must be 'oci://…', an archive's URL, or a name together with `repo`, not "
SEVERAL = " must not hold ',' or '\"': helm would treat it as several files"
OCI = {"path": None, "chart": "oci://x.test/a"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"path": None}, EITHER),
        ({"chart": "oci://x.test/a"}, EITHER),
        ({"path": None, "chart": "bitnami/web"}, f"{REFERENCE}'bitnami/web'"),
        ({"path": None, "chart": "web"}, f"{REFERENCE}'web'"),
        ({"path": None, "chart": "--post-renderer", "repo": "https://x.test"}, f"{REFERENCE}'--post-renderer'"),
        (
            {"path": None, "chart": "file:///etc"},
            "chart` 'file:///etc' must be a URL that starts with oci:// or https:// or http://",
        ),
        (OCI | {"chart": "oci://u:p@x.test/a"}, "chart` must not contain a user name or password: plans are not kept secret"),
        ({"path": None, "chart": 7}, "chart` must be a string, not 7: put it in quotes"),
        (OCI | {"chart": "web", "repo": "oci://x"}, "repo` 'oci://x' must be a URL that starts with https:// or http://"),
        (OCI | {"repo": "https://x.test"}, "repo` may not be set when `chart` is a URL"),
        ({"repo": "https://x.test"}, "repo` may be set only with `chart`"),
        ({"version": "1.0"}, "version` may be set only with `chart`"),
        (OCI | {"version": 1.1}, "version` must be a string, not 1.1: put it in quotes"),
        (OCI | {"version": "--x"}, "version` must be a chart's version such as '1.2.3' or '^1.2', not '--x'"),
        ({"release": "My_App"}, "release` must be a release's name of lower-case letters, digits and '-', not 'My_App'"),
        ({"release": "x" * 54}, "release` must be at most 53 printable characters on one line"),
        ({"values": "a: 1"}, "values` must be a dictionary, not 'a: 1'; files with values go into `values_files`"),
        ({"values": {"a": "x" * 2**18}}, "values` must not be larger than 256 KiB: put them into a file of the image"),
        ({"values_files": {"a": 1}}, "values_files` must be a list of at most 32 paths relative to /templates of the image"),
        ({"values_files": ["a.yml", 3]}, "values_files[1]` must be a string"),
        ({"values_files": ["/b"]}, "values_files[0]` '/b' must be relative to /templates of the image, without a leading '/'"),
        ({"values_files": ["a,b.yml", "e.yml"]}, f"values_files[0]` 'a,b.yml'{SEVERAL}"),
        ({"values_files": ["e.yml", 'c"d.yml']}, f"values_files[1]` 'c\"d.yml'{SEVERAL}"),
        ({"wait": "perhaps"}, "wait` must be true or false, not 'perhaps'"),
        ({"create_namespace": 1}, "create_namespace` must be true or false, not 1"),
    ],
)
def test_a_fault_of_a_helm_step_is_named(changes: Object, said: str) -> None:
    assert faults_of(chart(**changes)) == [f"`templates[0].{said}"]
