"""`nestor install`: values for this cluster, and Helm with them."""

import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from nestor import CHART, IMAGE, __version__
from nestor.api.objects import Object
from nestor.clients.cli import console, options, output, session
from nestor.clients.cli.commands.doctor import show
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.session import Place

PROFILES = ("Tenants", "Evaluation", "Trusted")


@options.acting
async def install(  # noqa: PLR0913, PLR0917 - the command line's options
    place: Place,
    domain: Annotated[str | None, options.option("--domain", help="Domain of the jobs' URLs, as `apps.example.com`.")] = None,
    ingress_class: Annotated[str | None, options.option("--ingress-class", help="IngressClass of the URLs.")] = None,
    image: Annotated[str | None, options.option("--image", help="Nestor's image, without a tag.")] = None,
    profile: Annotated[str | None, options.option("--profile", help=f"For the class `default`: {', '.join(PROFILES)}.")] = None,
    chart: Annotated[str, typer.Option("--chart", help="The chart: a folder or `oci://…`.")] = CHART,
    values: Annotated[Path, typer.Option("--values", help="The file to write.")] = Path("nestor-values.yaml"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the values and the command.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before Helm is run.")] = False,
) -> int:
    """Install Nestor, or change its values: look at the cluster, write a values file, and run Helm.

    On a terminal, it asks for what the options leave open, and before it changes anything. An existing file with other values
    is never overwritten without a question. `--namespace` is that of the release, by default nestor-system.
    """
    from nestor.clients.cli.diagnosis import facts, installation  # noqa: PLC0415 - as in `doctor`

    async with session.opened(place) as opened:
        found = await facts.read_installation(opened)
    if session.can_ask():
        there = ", ".join(item["metadata"]["name"] for item in found.ingress_classes or ()) or "none"
        domain = domain or session.ask("Domain of the jobs' URLs (empty: no URLs)")
        ingress_class = ingress_class or session.ask(f"IngressClass (empty: the default; there: {there})")
        image = image or session.ask(f"Nestor's image, without a tag (empty: {IMAGE})")
        profile = profile or session.ask(f"Profile, one of {', '.join(PROFILES)} (empty: {PROFILES[0]})")
    if profile and profile not in PROFILES:
        raise Failure(f"there is no profile '{profile}'; available: {', '.join(PROFILES)}", Code.USAGE)
    made = build_values(domain, ingress_class, image, profile)
    urls = installation.judge_ingress("default", made["defaultClass"]["expose"], found)
    show({"Cluster": [*installation.judge_server(found), *urls, installation.judge_network(found)]}, None)
    where = place.merged(session.OUTER.get()).namespace or "nestor-system"
    command = build_command(chart, values, where, session.list_options(opened.context, "--kube-context"))
    text = output.dump_yaml(made)
    console.out().print(Text(f"\n{values}:\n{text}\n{shlex.join(command)}"), soft_wrap=True)
    return Code.OK if dry_run else _run(command, values, text, yes=yes)


def build_values(domain: str | None, ingress_class: str | None, image: str | None, profile: str | None) -> Object:
    """Pure."""
    said = {"domain": domain, "ingressClassName": ingress_class}
    expose = {key: value for key, value in said.items() if value}
    return {"image": {"repository": image or IMAGE}, "defaultClass": {"profile": profile or PROFILES[0], "expose": expose}}


def build_command(chart: str, values: Path, namespace: str, place: list[str]) -> list[str]:
    """Pure."""
    version = ["--version", __version__] if chart.startswith("oci://") else []
    release = ["helm", "upgrade", "--install", "nestor", chart, *version, "--namespace", namespace, "--create-namespace"]
    return [*release, "--values", str(values), "--wait", *place]


def _run(command: list[str], file: Path, text: str, *, yes: bool) -> int:
    if shutil.which("helm") is None:
        raise Failure("Helm is not installed on this machine", Code.USAGE, hint="install Helm 3.14 or later: https://helm.sh")
    is_other = file.exists() and file.read_text() != text
    if not session.can_ask() and (is_other or not yes):
        hint = "name another file with --values" if is_other else "add --yes to agree"
        raise Failure(f"{file} exists with other values" if is_other else "nothing was installed", Code.USAGE, hint=hint)
    if is_other:
        session.confirm(f"{file} exists with other values. Overwrite it?")
    if not yes:
        session.confirm("Run this command?")
    file.write_text(text)
    if code := subprocess.run(command, check=False).returncode:
        raise Failure(f"Helm failed with exit code {code}", hint=f"{file} is written; the command above can be run again")
    console.tell("installed; `nestor doctor` checks it", mark="good")
    return Code.OK
