"""`nestor init`: a job to begin with, in a file with comments."""

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from nestor.clients.cli import console, manifests, options, packages, session
from nestor.clients.cli.exits import Failure
from nestor.clients.cli.manifests import Wishes
from nestor.clients.cli.output import dump_yaml
from nestor.clients.cli.packages import Package

FILE = "job.yaml"
SKELETON = Path(__file__).with_name("skeleton.yaml")
_COMMENTS = {
    "appDef:": "An app image has the same object as /etc/NAE/AppDef.json.",
    '"parameters":': 'What users can set. A step with `"render": true` fills in {{ parameters.NAME }}.',
    '"targets":': "Services to expose, as service_name, service_port and service_namespace. The first one has the job's URL.",
    '"templates":': "Steps, in their order. Types: kubectl, kustomize, helm, custom.",
}


def init(
    folder: Annotated[Path, options.argument(metavar="[DIR]", help="Folder of the new job.yaml. Default: this one.")] = Path(),
    chart: options.Chart = None,
    manifest: options.Manifest = None,
    kustomize: options.Kustomize = None,
    target: options.Targets = None,
) -> None:
    """Write a job with its AppDef, to be edited: of a chart, a manifest or a kustomization, or else a small web server.

    `nestor run -f job.yaml` runs it. Files are never overwritten.
    """
    package = Package(chart=chart, manifest=manifest, kustomize=kustomize, targets=target)
    if sum(way is not None for way in (chart, manifest, kustomize)) > 1:
        raise typer.BadParameter("specify only one of --chart, --manifest and --kustomize")
    raise typer.Exit(session.run(lambda: _init(folder, package)))


def _init(folder: Path, package: Package) -> int:
    if package.chart or package.manifest or package.kustomize:
        text = write_job(package.name, package)
    else:
        package = Package(manifest=str(SKELETON), targets=package.targets or ["web:8080"])
        text = write_job(manifests.base_name(folder.resolve().name), package)
    file = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise Failure(f"{file} cannot be written: {error.strerror or error}") from error
    console.tell(f"{file} written; `nestor run -f {file}` runs it", mark="good")
    return 0


def write_job(name: str, package: Package) -> str:
    """The file: with the ConfigMap of the templates, if the package is on this machine. Raises `Failure`."""
    appdef = packages.build_appdef(package) | {"name": name}
    (command,) = appdef["commands"].values()
    parts, app = [], {}
    if not package.is_remote:
        meta = {"name": f"{name}-templates"}
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **packages.read_data(package)}
        parts, app = [dump_yaml(made)], {"templatesFrom": {"configMapRef": meta}}
    if package.manifest == str(SKELETON):
        command["parameters"] = {"GREETING": {"name": "Greeting", "type": "STR", "value": "Hello", "required": False}}
        command["nested_kubernetes"]["templates"][0] |= {"name": "web", "render": True}
    job = manifests.build_job(Wishes(), appdef={}, name=name)
    job["spec"]["app"] = app | {"appDef": "APPDEF"}
    # JSON is YAML, too.
    inside = json.dumps(appdef, indent=2, ensure_ascii=False).replace("\n", "\n      ")
    text = dump_yaml(job).replace("appDef: APPDEF", f"appDef:\n      {inside}")
    for key, said in _COMMENTS.items():
        text = re.sub(rf"^( *)({key})", rf"\1# {said}\n\1\2", text, count=1, flags=re.MULTILINE)
    return "---\n".join([*parts, text])
