"""kubectl and helm as the demo calls them: ours where the cache has them, else the machine's."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from devcluster.cluster import paths

_CLIENT_LOG = re.compile(r"[IWEF]\d{4} \d\d:\d\d:\d\d\.")


class DemoError(Exception):
    """The demo cannot go on; the message says why and what to do."""


@dataclass(frozen=True)
class Tools:
    """Commands against one cluster."""

    kubeconfig: Path

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl; its output. Raises `DemoError` with what it said."""
        return self._run("kubectl", arguments)

    def helm(self, *arguments: str) -> str:
        """Run helm; its output. Raises `DemoError` with what it said."""
        return self._run("helm", arguments)

    def _run(self, tool: str, arguments: tuple[str, ...], limit: float = 300) -> str:
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        command = [find_tool(tool), *arguments]
        try:
            result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=limit)
        except subprocess.TimeoutExpired:
            raise DemoError(f"`{tool} {' '.join(arguments)}` did not end within {limit:g} s") from None
        if result.returncode != 0:
            raise DemoError(f"`{tool} {' '.join(arguments)}` failed:\n{drop_client_log(result.stderr or result.stdout)}")
        return result.stdout


def drop_client_log(text: str) -> str:
    """What a tool says for people, without the log lines of the Kubernetes client in it."""
    return "\n".join(line for line in text.strip().splitlines() if not _CLIENT_LOG.match(line))


def find_tool(name: str) -> str:
    """Path of a command. Raises `DemoError` when there is none."""
    built = paths.default().bin / name
    found = str(built) if built.exists() else shutil.which(name)
    if found is None:
        raise DemoError(f"{name} is not installed")
    return found
