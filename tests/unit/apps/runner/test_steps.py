"""Every step type down to its process: kubectl and helm are scripts that tell how they were called."""

import asyncio
import base64
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiohttp.abc import ResolveResult

from nestor.api.appdef_models import NestedKubernetes
from nestor.apps.runner import command, processes
from nestor.apps.runner import types as execution
from nestor.apps.runner.attempt import Attempt, AttemptError, StepError
from nestor.apps.runner.command import Outcome
from nestor.apps.runner.download import Downloader, Fetched
from nestor.apps.runner.types import TYPES, Executor
from nestor.apps.runner.workspace import Place, Workspace
from nestor.apps.steps import Plan, Step, types
from nestor.apps.steps.plan import Helm, Remote
from nestor.kube import Api, Unreachable

TELL = """#!/bin/sh
echo "$(basename $0) $*"
echo "in $(pwd)"
env | sort
"""


class NoApi:
    async def list(self, *_: Any, **__: Any) -> list[Any]:
        return []


class Fake(Downloader):
    """Writes what it is told to; names resolve to one address."""

    content: bytes | Exception = b"apiVersion: v1"
    address = "93.184.216.34"

    def __init__(self, rules: Remote) -> None:
        super().__init__(rules, resolve=self._answer)

    async def _answer(self, host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host=self.address, port=port, family=family, proto=0, flags=0)]

    async def fetch(self, text: str, target: Path, *, sha256: str | None = None, limit: float = 300) -> Fetched:
        if isinstance(self.content, Exception):
            raise self.content
        await asyncio.to_thread(target.write_bytes, self.content)
        return Fetched(len(self.content), "digest")


class Stage:
    """A place with templates, and a plan's executor."""

    def __init__(self, folder: Path, steps: tuple[Step, ...] = (), **plan: Any) -> None:
        self.place = Place(folder / "templates", folder / "kubeconfig", folder / "work")
        self.plan = Plan(hash="h", steps=steps, **plan)
        self.workspace = Workspace(self.place, self.plan)
        self.downloader = Fake(self.plan.remote)
        self.executor = Executor(self.workspace, self.plan, cast(Api, NoApi()), self.downloader)
        self.lines: list[str] = []

    def write(self, **files: str) -> None:
        for name, content in files.items():
            file = self.place.templates / name.replace("__", "/").replace("_", ".")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)

    async def run(self, number: int = 1, **step: Any) -> Outcome:
        self.lines.clear()
        return await self.executor.execute(Attempt(Step(name="web", **step), number, self.lines.append))

    async def script(self, text: str, number: int = 1, **step: Any) -> Outcome:
        return await self.run(number, type="custom", cmd=base64.b64encode(text.encode()).decode(), **step)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("templates", "work", "bin"):
        (tmp_path / name).mkdir()
    (tmp_path / "kubeconfig").write_text("kind: Config")
    for name in ("kubectl", "helm"):
        (tmp_path / "bin" / name).write_text(TELL)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    processes.become_subreaper()
    yield tmp_path
    processes.become_subreaper(False)


@pytest.fixture
def stage(folder: Path) -> Stage:
    return Stage(folder)


def test_every_type_of_step_can_be_executed_and_is_told() -> None:
    assert list(TYPES) == list(types.TYPES)
    page = (Path(__file__).parents[4] / "docs/app-authors.md").read_text()
    told = NestedKubernetes.model_fields["templates"].description or ""
    assert [name for name in TYPES if f"| `{name}`" not in page or f"`{name}`" not in told] == []


def describe(step: Step) -> str:
    return TYPES[step.type].describe(step)


def test_steps_are_described_in_a_few_words() -> None:
    assert describe(Step(name="a", type="kubectl", path="a.yml")) == "kubectl a.yml"
    url = Step(name="a", type="kubectl", format="url", path="https://me:secret@example.com/a.yml?token=secret")
    assert describe(url) == "kubectl https://example.com/a.yml"
    assert describe(Step(name="a", type="kustomize", path="over")) == "kustomize over"
    assert describe(Step(name="a", type="custom", cmd="eA==")) == "custom script"
    assert describe(Step(name="a", type="helm", path="charts/web", helm=Helm(release="w"))) == "helm release 'w' from charts/web"
    assert describe(Step(name="a", type="helm", helm=Helm(release="w", chart="oci://x/y"))) == "helm release 'w' from oci://x/y"


async def test_a_file_is_applied_in_the_templates_folder_itself(stage: Stage) -> None:
    stage.write(web_yml="a")
    assert (await stage.run(type="kubectl", path="web.yml")).is_success
    assert stage.lines[:2] == ["kubectl apply -f ./web.yml", f"in {stage.place.templates}"]
    assert [entry.name for entry in stage.place.work.iterdir()] == ["home"]
    await stage.run(type="kubectl", path="web.yml", namespace="apps", server_side=True)
    assert stage.lines[0] == "kubectl apply -f ./web.yml --namespace apps --server-side --force-conflicts"


async def test_a_processes_world_is_the_nested_cluster_and_the_plans_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy")
    stage = Stage(folder, environment={"REPLICAS": "3", "HOME": "/root"}, facts={"name": "hello", "url": "https://x"})
    await stage.script("#!/bin/sh\nenv | sort; cat $KUBECONFIG; stat -c %a $KUBECONFIG; ls -d $HOME $TMPDIR | wc -l", number=4)
    names = {line.partition("=")[0] for line in stage.lines if "=" in line}
    own = "PATH LANG HOME TMPDIR KUBECONFIG NESTOR_STEP NESTOR_ATTEMPT NESTOR_TEMPLATES NESTOR_JOB_NAME NESTOR_JOB_URL"
    of_helm = "HELM_CACHE_HOME HELM_CONFIG_HOME HELM_DATA_HOME"
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {*own.split(), *of_helm.split(), "REPLICAS"}
    told = {"NESTOR_STEP=web", "NESTOR_ATTEMPT=4", "REPLICAS=3", f"HOME={folder}/work/home", "NESTOR_JOB_NAME=hello"}
    assert told <= set(stage.lines)
    assert stage.lines[-2:] == ["kind: Config600", "2"]


async def test_scripts_share_a_copy_of_the_templates_and_later_steps_see_what_they_left(stage: Stage) -> None:
    stage.write(a_txt="from the image")
    assert (await stage.script("#!/bin/sh\ncat a.txt; pwd; echo made > made.yml; echo changed > a.txt")).is_success
    assert stage.lines == ["from the image" + str(stage.place.work / "templates")]
    assert (await stage.script("#!/bin/sh\ncat a.txt made.yml")).message == "changed\nmade"
    assert (await stage.run(type="kubectl", path="made.yml")).is_success
    assert (stage.place.templates / "a.txt").read_text() == "from the image"


CLONE = "#!/bin/sh\nset -e\nmkdir server\ntouch server/file\nexit $([ $NESTOR_ATTEMPT = 3 ] && echo 0 || echo 1)\n"


async def test_a_retry_begins_with_what_earlier_steps_left(stage: Stage) -> None:
    stage.write(a_txt="from the image")
    first = "echo first > a.txt; mkdir b; ln -s ../a.txt b/link; ln -s /gone out; chmod 500 b; touch ..x; touch -d @9 a.txt"
    assert (await stage.script(first)).is_success
    spoil = f"rm -r b out ..x; echo spoilt > a.txt; touch new\n{CLONE}"
    look = "ls -A; stat -c %Y a.txt; cat b/link; readlink b/link out"
    before = "..x\na.txt\nb\nout\n9\nfirst\n../a.txt\n/gone"
    for number, code in ((1, 1), (2, 1), (3, 0)):
        assert await stage.script(f"#!/bin/sh\n{look}\n{spoil}", number, retry=5) == Outcome(code, before)
    assert (await stage.script("#!/bin/sh\nls -A; cat a.txt")).message == "a.txt\nnew\nserver\nspoilt"
    assert sorted(entry.name for entry in stage.place.work.iterdir()) == ["home", "templates"]


async def test_a_script_that_removes_its_folder_leaves_the_images_templates(stage: Stage) -> None:
    stage.write(a_txt="from the image")
    assert (await stage.script("#!/bin/sh\ntouch b; rm -r $NESTOR_TEMPLATES")).is_success
    assert await stage.script("#!/bin/sh\nls") == Outcome(0, "a.txt")


async def test_an_attempts_own_files_go_with_it(stage: Stage) -> None:
    await stage.script("#!/bin/sh\ntouch $TMPDIR/x; mkdir -p $TMPDIR/a/b; chmod 0 $TMPDIR/a; touch $HOME/kept")
    assert sorted(entry.name for entry in stage.place.work.iterdir()) == ["home", "templates"]
    assert (stage.place.work / "home" / "kept").exists()


async def test_what_cannot_be_copied_is_told(stage: Stage) -> None:
    os.mkfifo(stage.place.templates / "pipe")
    assert (await stage.script("#!/bin/sh\nls")).is_success
    assert stage.lines == [f"left out of the copy of /templates: '{stage.place.templates}/pipe': neither a file nor a folder"]


async def test_a_kustomization_is_applied_as_a_folder(stage: Stage) -> None:
    stage.write(over__kustomization_yaml="resources: [web.yaml]", over__web_yaml="a")
    assert (await stage.run(type="kustomize", path="over", namespace="apps")).is_success
    assert stage.lines[0] == "kubectl apply -k ./over --namespace apps"
    assert not any(line.startswith("GIT_ALLOW_PROTOCOL") for line in stage.lines)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("web.yml", "must be a folder with a kustomization.yaml, not a file"),
        ("empty", "has no kustomization.yaml"),
        ("missing", "does not exist"),
        ("../x", "must not contain"),
        ("leaves", "a link leads outside"),
        ("inner", "a link leads outside"),
    ],
)
async def test_a_folder_that_is_no_kustomization_fails_at_once(stage: Stage, path: str, said: str) -> None:
    stage.write(web_yml="a", inner__kustomization_yaml="")
    (stage.place.templates / "empty").mkdir()
    (stage.place.templates / "leaves").symlink_to("/etc")
    (stage.place.templates / "inner" / "leaves.yaml").symlink_to("/etc/passwd")
    with pytest.raises(StepError, match=said):
        await stage.run(type="kustomize", path=path)


async def test_remote_bases_obey_the_classs_rules(folder: Path) -> None:
    base = "resources: [https://github.com/org/repo//base]"
    closed = Stage(folder, remote=Remote(enabled=False))
    closed.write(over__kustomization_yaml=base, local__kustomization_yaml="resources: []")
    with pytest.raises(StepError, match="does not allow steps to fetch anything"):
        await closed.run(type="kustomize", path="over")
    await closed.run(type="kustomize", path="local")
    assert "GIT_ALLOW_PROTOCOL=none" in closed.lines
    with pytest.raises(StepError, match=r"does not allow the host 'github\.com'"):
        await Stage(folder, remote=Remote(allowed_hosts=("example.com",))).run(type="kustomize", path="over")
    assert (await Stage(folder).run(type="kustomize", path="over")).is_success
    inward = Stage(folder)
    inward.downloader.address = "169.254.169.254"
    with pytest.raises(StepError, match="is link-local"):
        await inward.run(type="kustomize", path="over")


async def test_a_chart_in_the_templates_is_installed_with_its_values(stage: Stage) -> None:
    stage.write(charts__web__Chart_yaml="name: web", values_yaml="a: 1")
    chart = Helm(release="web", values={"b": 2}, values_files=("values.yaml",))
    assert (await stage.run(type="helm", path="charts/web", helm=chart)).is_success
    assert stage.lines[0].startswith(
        "helm upgrade --install web ./charts/web --namespace default --create-namespace "
        f"--values {stage.place.templates}/values.yaml --values {stage.place.work}/attempt-"
    )
    assert f"HELM_CACHE_HOME={stage.place.work}/home/.helm/cache" in stage.lines


async def test_a_folder_that_is_no_chart_fails_at_once(stage: Stage) -> None:
    stage.write(charts__web__values_yaml="")
    with pytest.raises(StepError, match=r"chart folder 'charts/web' has no Chart\.yaml"):
        await stage.run(type="helm", path="charts/web", helm=Helm(release="web"))
    stage.write(charts__web__Chart_yaml="")
    with pytest.raises(StepError, match="'charts' must be a file, not a folder"):
        await stage.run(type="helm", path="charts/web", helm=Helm(release="web", values_files=("charts",)))


async def test_a_remote_chart_obeys_the_classs_rules(folder: Path) -> None:
    chart = Helm(release="web", chart="oci://ghcr.io/org/web", version="1.0.0")
    stage = Stage(folder)
    assert (await stage.run(type="helm", helm=chart)).is_success
    assert stage.lines[0].startswith("helm upgrade --install web oci://ghcr.io/org/web --namespace default")
    with pytest.raises(StepError, match="does not allow steps to fetch anything"):
        await Stage(folder, remote=Remote(enabled=False)).run(type="helm", helm=chart)
    with pytest.raises(StepError, match="names no host"):
        await stage.run(type="helm", helm=Helm(release="web", chart="web"))


async def test_a_url_is_fetched_and_kubectl_gets_a_file(stage: Stage) -> None:
    outcome = await stage.run(type="kubectl", format="url", path="https://example.com/a.yaml?token=secret")
    assert (outcome.exit_code, outcome.sha256) == (0, "digest")
    assert stage.lines[:2] == ["fetched 14 bytes, sha256 digest", "kubectl apply -f ./manifest.yaml"]
    assert not any("secret" in line for line in stage.lines)


async def test_a_server_that_fails_is_a_failed_attempt_and_a_rule_that_refuses_is_the_end(stage: Stage) -> None:
    stage.downloader.content = AttemptError("503")
    assert await stage.run(type="kubectl", format="url", path="https://example.com/a") == Outcome(None, "503")
    stage.downloader.content = StepError("refused")
    with pytest.raises(StepError, match="refused"):
        await stage.run(type="kubectl", format="url", path="https://example.com/a")


async def test_an_app_without_templates_has_an_empty_folder_for_its_scripts(stage: Stage) -> None:
    stage.place.templates.rmdir()
    assert (await stage.script("#!/bin/sh\nls -A; pwd")).message == str(stage.place.work / "templates")


async def test_trouble_of_the_disk_is_a_failed_attempt(stage: Stage) -> None:
    stage.place.kubeconfig.unlink()
    outcome = await stage.script("#!/bin/sh\n:")
    assert outcome.exit_code is None
    assert outcome.message.startswith("the step cannot be prepared: [Errno 2] No such file or directory")


async def test_so_is_trouble_of_the_nested_api(folder: Path) -> None:
    class Broken(NoApi):
        async def list(self, *_: Any, **__: Any) -> list[Any]:
            raise Unreachable("connection refused")

    stage = Stage(folder)
    stage.write(charts__web__Chart_yaml="name: web")
    stage.executor = Executor(stage.workspace, stage.plan, cast(Api, Broken()), stage.downloader)
    outcome = await stage.run(type="helm", path="charts/web", helm=Helm(release="web"))
    assert outcome == Outcome(None, "the step cannot be prepared: the nested API: 503 Unreachable: connection refused")


async def test_a_file_that_went_with_an_earlier_runner_is_told_so(folder: Path) -> None:
    script = Step(name="make", type="custom", cmd="eA==")
    steps = (script, Step(name="web", type="kubectl", path="made.yml"))
    stage = Stage(folder, steps=steps)
    with pytest.raises(StepError, match="files that scripts of earlier steps write last as long as the runner's pod"):
        await stage.run(type="kubectl", path="made.yml")
    with pytest.raises(StepError, match=r"\(it is empty\)$"):
        await Stage(folder, steps=steps[1:]).run(type="kubectl", path="made.yml")


SAYS_ONCE = """#!/bin/sh
echo "kubectl $*"
[ -e $0.said ] && exit 0
touch $0.said
echo '{}'
exit 1
"""
LOST_RACE = 'Error from server (AlreadyExists): error when creating "./web.yml": configmaps "second" already exists'
TOO_LONG = 'The CustomResourceDefinition "a.b" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes'
TOO_LARGE = "an object is too large for client-side apply; all are applied again by server-side apply"


@pytest.mark.parametrize(
    ("said", "note", "options"),
    [(LOST_RACE, "another writer was faster; applied again", ""), (TOO_LONG, TOO_LARGE, " --server-side --force-conflicts")],
)
async def test_an_apply_that_another_one_heals_is_followed_by_it_at_once(
    stage: Stage, folder: Path, said: str, note: str, options: str
) -> None:
    stage.write(web_yml="a")
    (folder / "bin" / "kubectl").write_text(SAYS_ONCE.replace("{}", said))
    assert (await stage.run(type="kubectl", path="web.yml")).is_success
    assert stage.lines == ["kubectl apply -f ./web.yml", said, note, f"kubectl apply -f ./web.yml{options}"]


@pytest.mark.parametrize(("said", "count"), [(LOST_RACE, 2), (TOO_LONG, 2), ("error: no matches for kind", 1)])
async def test_it_is_repeated_once_and_then_fails(stage: Stage, folder: Path, said: str, count: int) -> None:
    stage.write(web_yml="a")
    (folder / "bin" / "kubectl").write_text(SAYS_ONCE.replace("{}", said).replace("touch", ":"))
    outcome = await stage.run(type="kubectl", path="web.yml")
    assert outcome.exit_code == 1
    assert outcome.message.endswith(said)
    assert sum(line.startswith("kubectl apply") for line in stage.lines) == count


async def test_a_script_is_told_that_another_pod_ran_the_ones_before_it(folder: Path) -> None:
    first, second = (Step(name=name, type="custom", cmd="bHMK") for name in ("first", "second"))
    stage = Stage(folder, steps=(first, second))
    await stage.executor.execute(Attempt(second, 1, stage.lines.append))
    assert stage.lines == ["another pod ran scripts of earlier steps: what they wrote is not there"]
    stage = Stage(folder, steps=(first, second))
    for step in (first, second):
        await stage.executor.execute(Attempt(step, 1, stage.lines.append))
    assert stage.lines == []


async def test_what_preparing_took_counts_and_the_limit_is_told_as_it_was_written(
    stage: Stage, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = [0.0]

    async def dawdle(*_: Any, **__: Any) -> Fetched:
        passed[0] = 599.9
        return Fetched(1, "0" * 64)

    monkeypatch.setattr(stage.downloader, "fetch", dawdle)
    monkeypatch.setattr(execution, "time", SimpleNamespace(monotonic=lambda: passed[0]))
    monkeypatch.setattr(command, "SECONDS_LEFT", 0.1)
    (folder / "bin" / "kubectl").write_text("#!/bin/sh\nexec sleep 60\n")
    outcome = await stage.run(type="kubectl", format="url", path="https://example.com/a", timeout_seconds=600)
    assert outcome.message.startswith("timed out after 600 s, stopped")
