"""What Argo CD's own program shows of an Application, as a picture for the documentation: `NESTOR_PICTURES=docs/pictures`."""

from __future__ import annotations

import asyncio
import io
import os
import re
from pathlib import Path

import yaml
from rich.console import Console

from devcluster.demo.tools import find_tool
from tests import children

LIMIT = 90
WIDTH = 118
FONTS = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
"""Rich has browsers load these from elsewhere."""


async def take_tree(kubeconfig: Path, namespace: str, name: str, folder: str) -> None:
    """Put a picture of the Application's tree into the folder. Argo CD runs in `namespace`."""
    # The program reads Argo CD's settings where the kubeconfig points to.
    content = yaml.safe_load(await asyncio.to_thread(kubeconfig.read_text))
    content["contexts"][0]["context"]["namespace"] = namespace
    own = Path(folder) / "argocd.kubeconfig"
    own.write_text(yaml.safe_dump(content))
    try:
        text = await _run("app", "get", name, "--core", "-o", "tree=detailed", kubeconfig=own)
    finally:
        own.unlink()
    (Path(folder) / "argocd-tree.svg").write_text(_draw(f"argocd app get {name} -o tree=detailed", text))


async def _run(*arguments: str, kubeconfig: Path) -> str:
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "NO_COLOR": "1"}
    streams = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.PIPE}
    async with children.running(find_tool("argocd"), *arguments, env=environment, **streams) as process, asyncio.timeout(LIMIT):
        output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return output.decode()


def _draw(title: str, text: str) -> str:
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(text, markup=False, highlight=False, no_wrap=True, crop=True)
    return FONTS.sub("", console.export_svg(title=title))
