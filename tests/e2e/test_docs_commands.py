"""The commands of the documentation, run as they stand on its pages (`tests/site/proofs.txt` says which)."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from devcluster.demo.tools import find_tool
from nestor.api import labels
from nestor.kube import Api, kinds
from tests import children, waiting
from tests.e2e.conftest import IS_EMBEDDED, ROOT, Cluster, Web
from tests.e2e.isolation import find_walls
from tests.site import blocks, proofs
from tests.site.shell import read_commands

LIMIT_SECONDS = 120
"""For one command."""


@dataclass
class Reader:
    """Somebody who does what a page says: in a folder, with a kubeconfig, a namespace, `nestor` and kubectl."""

    folder: Path
    environment: dict[str, str]

    @classmethod
    def at_work(cls, cluster: Cluster, namespace: str, folder: Path) -> Reader:
        config = yaml.safe_load(cluster.kubeconfig.read_text())
        for item in config["contexts"]:
            item["context"]["namespace"] = namespace
        (folder / "kubeconfig").write_text(yaml.safe_dump(config))
        tools = folder / "bin"
        tools.mkdir()
        (tools / "nestor").write_text(f'#!/bin/sh\nexec {sys.executable} -m nestor "$@"\n')
        (tools / "nestor").chmod(0o755)
        (tools / "kubectl").symlink_to(find_tool("kubectl"))
        path = f"{tools}:{os.environ['PATH']}"
        own = {"KUBECONFIG": str(folder / "kubeconfig"), "PYTHONPATH": str(ROOT / "src"), "PATH": path, "NO_COLOR": "1"}
        return cls(folder, {**os.environ, **own})

    async def do(self, words: list[str]) -> str:
        """Run a command; its output. Fails with it when the command fails."""
        code, output = await self.attempt(words)
        assert code == 0, f"{shlex.join(words)} exited {code}:\n{output}"
        return output

    async def attempt(self, words: list[str]) -> tuple[int, str]:
        """Run a command; its exit code, and its output with errors."""
        return await children.run("env", *words, limit=LIMIT_SECONDS, env=self.environment, cwd=self.folder)


def list_commands(page: str, proof: str) -> list[list[str]]:
    """The commands of a page that a test has to run, in their order."""
    found = []
    for block in blocks.read_blocks((ROOT / page).read_text(), page):
        for words in read_commands(block.text, block.language) if block.language in blocks.SHELLS else ():
            row = next(row for row in proofs.PROOFS if row.speaks_of(page, words))
            found += [words] if (row.how, row.what) == ("RUNS", proof) else []
    return found


@pytest.mark.long
async def test_the_users_page_works_from_top_to_bottom(
    api: Api, namespace: str, cluster: Cluster, web: Web, tmp_path: Path
) -> None:
    reader = Reader.at_work(cluster, namespace, tmp_path)
    page = "docs/users.md"
    (file,) = [block for block in blocks.read_blocks((ROOT / page).read_text(), page) if block.title]
    (tmp_path / file.title).write_text(file.text)
    said: dict[str, str] = {}
    commands = list_commands(page, proofs.USERS)
    for words in commands:
        output = said[shlex.join(words)] = await reader.do(words)
        if words[:2] == ["nestor", "open"]:
            assert (await web.page(output.strip())).strip() == "Hello"
        elif words[:2] == ["nestor", "rerun"]:
            told = await reader.do(shlex.split("nestor exec hello -- kubectl get configmap page -o jsonpath={.data}"))
            assert "Hello again" in told
        elif words[:2] == ["nestor", "resume"]:
            namespaces = await api.list(kinds.NAMESPACE, "", labels=labels.selector(job="hello", job_namespace=namespace))
            assert len(namespaces) == 1
    assert len(commands) > 20
    assert "no problems found" in said["nestor doctor"]
    assert "hello" in said["nestor list"]
    assert "AppReady" in said["kubectl get naj"]
    for condition in ("Admitted", "ClusterReady", "StepsApplied", "Exposed"):
        assert condition in said["kubectl describe naj hello"]
    assert "[web-server] deployment.apps/web created" in said["nestor logs hello web-server"]
    assert "web-" in said["nestor exec hello -- kubectl get pods -A -o wide"]
    assert "7200" in next(output for command, output in said.items() if "activeDeadlineSeconds}" in command)
    assert yaml.safe_load((tmp_path / "hello.kubeconfig").read_text())["kind"] == "Config"
    assert await api.find(kinds.NESTED_APP_JOB, "hello", namespace) is None
    await waiting.wait_for_none(api, kinds.NAMESPACE, "", labels=labels.selector(job_namespace=namespace))


async def test_what_admins_only_look_at_is_there(api: Api, namespace: str, cluster: Cluster, tmp_path: Path) -> None:
    reader = Reader.at_work(cluster, namespace, tmp_path)
    name = f"{namespace}-a"
    said: dict[str, str] = {}
    # A fresh installation has yet to find out whether policies are enforced.
    await find_walls(api)
    listed = list_commands("docs/admins.md", proofs.ADMINS)
    commands = [[word.replace("team-a", name) for word in words] for words in listed]

    async def ask(words: list[str]) -> str:
        """The API server hears of a new role a moment after it is made."""

        async def is_allowed() -> str | None:
            code, output = await reader.attempt(words)
            return None if code else output

        return await waiting.eventually(is_allowed)

    try:
        for words in commands:
            said[shlex.join(words)] = await (ask(words) if words[1] == "auth" else reader.do(words))
    finally:
        await api.delete(kinds.NAMESPACE, name)
    assert len(commands) > 12
    assert "no problems found" in said["nestor doctor"]
    assert "default" in said["kubectl get nclass"]
    assert said[f"kubectl auth can-i create nestedappjobs -n {name} --as jane --as-group {name}"].strip() == "yes"
    assert "ENFORCED" in said["kubectl get nclass"]
    assert not IS_EMBEDDED or "True" in said["kubectl get nclass"]
