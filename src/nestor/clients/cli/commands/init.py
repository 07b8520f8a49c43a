"""`nestor init`: a job to begin with, in a file with comments."""

import json
import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from nestor.api.objects import Object
from nestor.clients.cli import console, manifests, options, packages, session
from nestor.clients.cli.exits import Failure
from nestor.clients.cli.manifests import Wishes
from nestor.clients.cli.output import dump_yaml
from nestor.clients.cli.packages import Package

SKELETON = Path(__file__).with_name("skeleton.yaml")
_COMMENTS = {
    "appDef:": "An app image has the same object as /etc/NAE/AppDef.json.",
    '"parameters":': 'What users can set. A step with `"render": true` fills in {{ parameters.NAME }}.',
    '"targets":': "Services to expose, as service_name, service_port and service_namespace. The first one has the job's URL.",
    '"templates":': "Steps, in their order. Types: kubectl, kustomize, helm, custom.",
}


def init(
    folder: Annotated[Path, options.argument(metavar="DIR", help="Folder of the new job.yaml. Default: this one.")] = Path(),
    chart: options.Chart = None,
    repo: options.Repo = None,
    manifest: options.Manifest = None,
    kustomize: options.Kustomize = None,
    target: options.Targets = None,
) -> None:
    """Write an editable job for a chart, a manifest or a kustomization; otherwise, for a small web server.

    `nestor run -f job.yaml` runs it. An existing file is kept.
    """
    package = Package(chart=chart, repo=repo, manifest=manifest, kustomize=kustomize, targets=target)
    ways = sum(way is not None for way in (chart, manifest, kustomize))
    if ways > 1:
        raise typer.BadParameter("specify only one of --chart, --manifest and --kustomize")
    if (repo and not chart) or (target and not ways):
        raise typer.BadParameter("--repo belongs to --chart; --target to it, --manifest or --kustomize")
    raise typer.Exit(session.run(lambda: _init(folder, package)))


def _init(folder: Path, package: Package) -> int:
    own = package.chart or package.manifest or package.kustomize
    package = package if own else Package(manifest=str(SKELETON), targets=["web:8080"])
    name = package.name if own else manifests.base_name(folder.resolve().name)
    appdef = packages.build_appdef(package) | {"name": name}
    if not own:
        (command,) = appdef["commands"].values()
        command["parameters"] = {"GREETING": {"name": "Greeting", "type": "STR", "value": "Hello", "required": False}}
        command["nested_kubernetes"]["templates"][0] |= {"name": "web", "render": True}
    text = write_job(appdef, None if package.is_remote else packages.read_data(package))
    file = folder / "job.yaml"
    shown = shlex.quote(str(file))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError as error:
        taken = file if file.exists() else folder
        raise Failure(f"{taken} already exists", hint="name another folder: `nestor init DIR`") from error
    except OSError as error:
        raise Failure(f"{file} cannot be written: {error.strerror or error}") from error
    console.tell(f"{shown} written; `nestor run -f {shown}` runs it", mark="good")
    return 0


def write_job(appdef: Object, data: Object | None) -> str:
    """The file. `data`: of the ConfigMap of the templates, if they are on this machine. Pure."""
    name, parts, app = appdef["name"], [], {}
    if data is not None:
        meta = {"name": f"{name}-templates"}
        parts = [dump_yaml({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **data})]
        app = {"templatesFrom": {"configMapRef": meta}}
    job = manifests.build_job(Wishes(), appdef={}, name=name)
    job["spec"]["app"] = app | {"appDef": "APPDEF"}
    # JSON is YAML, too.
    inside = json.dumps(appdef, indent=2, ensure_ascii=False).replace("\n", "\n      ")
    text = dump_yaml(job).replace("appDef: APPDEF", f"appDef:\n      {inside}")
    for key, said in _COMMENTS.items():
        text = re.sub(rf"^( *)({key})", rf"\1# {said}\n\1\2", text, count=1, flags=re.MULTILINE)
    return "---\n".join([*parts, text])
