"""Which tests a changed folder wants besides those that `make test` always runs."""

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Group:
    """An area of Nestor. `places`: files whose change wants its tests, as folders or patterns; `tests`: their files."""

    places: tuple[str, ...]
    tests: tuple[str, ...]


GROUPS = {
    "overflow": Group(
        (
            "src/nestor/overflow/", "src/nestor/pods/", "src/nestor/operator/backends/", "src/nestor/operator/guests/gangs/",
            "devcluster/plugin/", "devcluster/cluster/plugin/",
        ),
        (
            "tests/e2e/test_overflow_*", "tests/e2e/devcluster/test_plugin.py", "tests/integration/vnode/",
            "tests/integration/providers/", "tests/unit/devcluster/plugin/",
        ),
    ),
    "jobs": Group(
        (
            *(f"src/nestor/operator/{name}/" for name in ("job", "lifecycle", "deletion", "world", "clusters", "status")),
            *(f"src/nestor/{name}/" for name in ("kube", "cluster")),
            "src/nestor/operator/*.py", "src/nestor/operator/guests/*.py",
            "src/nestor/operator/guests/retained/", "src/nestor/operator/guests/pool/", "src/nestor/operator/guests/sleep/",
        ),
        (
            *(f"tests/e2e/test_{name}.py" for name in ("job_life", "burst", "deletion", "faults", "nodes", "pool")),
            "tests/e2e/test_batch_*", "tests/e2e/test_observability_faults.py",
            "tests/integration/operator/", "tests/integration/kube/", "tests/integration/warm/",
        ),
    ),
    "queues": Group(
        ("src/nestor/operator/guests/queue/", "src/nestor/operator/guests/kueue/", "src/nestor/operator/guests/notices.py"),
        (
            "tests/e2e/test_kueue.py", "tests/integration/operator/test_queue*", "tests/integration/operator/test_notices.py",
            "tests/unit/operator/guests/queue/test_queues.py",
        ),
    ),
    "apps": Group(
        ("src/nestor/apps/", "src/nestor/operator/admission/", "examples/"),
        (
            "tests/e2e/test_appdef_*", "tests/e2e/test_demo.py", "tests/integration/runner/",
            "tests/integration/operator/test_sources.py", "tests/integration/operator/test_image_volumes.py",
            "tests/unit/apps/steps/test_properties.py",
        ),
    ),
    "nested": Group(
        (
            "src/nestor/syncer/", "src/nestor/pods/translate/", "src/nestor/api/contracts/", "src/nestor/api/names.py",
            "src/nestor/operator/guests/retained/", "src/nestor/*.py",
        ),
        (
            "tests/e2e/test_inside.py", "tests/e2e/test_storage_*", "tests/e2e/test_services_*", "tests/e2e/test_policy*",
            "tests/e2e/test_nodes_shown.py", "tests/e2e/test_metrics_top.py", "tests/e2e/test_webhooks_*",
            "tests/e2e/test_conformance.py", "tests/e2e/test_access.py", "tests/integration/syncer/",
        ),
    ),
    "walls": Group(
        (
            "charts/nestor/", "src/nestor/api/", "crds/", "src/nestor/cluster/policies.py",
            "src/nestor/operator/guests/enforcement/", "src/nestor/syncer/translate/network_policy.py",
        ),
        (
            "tests/e2e/test_isolation_*", "tests/e2e/test_chart_guard.py", "tests/e2e/test_policy*",
            *(
                f"tests/integration/operator/test_{name}*"
                for name in ("stolen", "chart", "syncer_walls", "uninstall", "enforcement", "access")
            ),
        ),
    ),
    "exposure": Group(
        ("src/nestor/cluster/exposure/", "src/nestor/operator/job/"),
        (
            "tests/e2e/test_exposure.py", "tests/integration/operator/test_exposure.py",
            "tests/integration/operator/test_gateway.py",
        ),
    ),
    "gitops": Group(
        (*(f"src/nestor/{name}/argocd.py" for name in ("operator/guests", "cluster", "syncer/cluster")), "charts/nestor/argocd/"),
        ("tests/e2e/test_argocd_*", "tests/integration/*/test_argocd.py"),
    ),
    "pages": Group(
        ("src/nestor/clients/", "docs/", "README.md"),
        (
            "tests/e2e/test_cli.py", "tests/e2e/test_docs_commands.py",
            "tests/integration/cli/", "tests/integration/demo/", "tests/unit/test_site.py",
        ),
    ),
    "devcluster": Group(
        (*(f"devcluster/{name}/" for name in ("cluster", "go", "build", "images", "release")), "devcluster/*.py"),
        ("tests/e2e/devcluster/", "tests/e2e/test_demo.py", "tests/integration/build/", "tests/unit/devcluster/"),
    ),
    "conformance": Group(("devcluster/conformance/",), ("tests/e2e/test_conformance.py", "tests/unit/devcluster/conformance/")),
    "monitoring": Group(
        ("charts/nestor/monitoring/", "src/nestor/operator/gauges.py"),
        ("tests/e2e/test_observability_metrics.py", "tests/integration/monitoring/"),
    ),
}  # fmt: skip
"""By name; a file of tests may be in several."""


def matches(file: str, pattern: str) -> bool:
    """Whether a pattern, or the folder that it names, has this file."""
    return file.startswith(pattern) if pattern.endswith("/") else PurePath(file).match(pattern)


def find_wanted(changed: Iterable[str]) -> list[str]:
    """Names of the groups that changes of these files want; files of tests want their own groups."""
    files = list(changed)

    def is_wanted(group: Group) -> bool:
        return any(matches(file, pattern) for file in files for pattern in (*group.places, *group.tests))

    return [name for name, group in GROUPS.items() if is_wanted(group)]


def list_tests(names: Iterable[str]) -> list[str]:
    """Files of the groups' tests, from the root of the checkout, in order."""
    patterns = {pattern for name in names for pattern in GROUPS[name].tests}
    files = (str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py"))
    return sorted(file for file in files if any(matches(file, pattern) for pattern in patterns))


def list_chosen() -> list[str]:
    """The files that the variables GROUP (names) and SINCE (a commit: the groups of what differs from it) choose."""
    names = os.environ.get("GROUP", "").split()
    if unknown := [name for name in names if name not in GROUPS]:
        raise ValueError(f"there is no group '{unknown[0]}'; there are {', '.join(GROUPS)}")
    if since := os.environ.get("SINCE"):
        command = ["git", "diff", "--name-only", since]
        names += find_wanted(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split())
    return list_tests(names)
