"""`nestor install`: values for this cluster, and Helm with them."""

import functools
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from nestor import CHART, IMAGE, __version__
from nestor.api.objects import Object
from nestor.clients.cli import console, options, output, session
from nestor.clients.cli.commands.doctor import show
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.offline import documents
from nestor.clients.cli.session import Place

NAMESPACE, PROFILES = "nestor-system", ("Tenants", "Evaluation", "Trusted")


def read_domain(text: str) -> str:
    if not re.fullmatch(r"([a-z0-9]([-a-z0-9]*[a-z0-9])?\.?)*", text):
        raise typer.BadParameter(f"'{text}' is not a domain; write it as `apps.example.com`, without `*.`")
    return text


def read_image(text: str) -> str:
    if "@" in text or ":" in text.rpartition("/")[2]:
        raise typer.BadParameter(f"'{text}' has a tag or digest; leave it out, and set `image.tag` in the values file instead")
    return text


def read_profile(text: str) -> str:
    found = [item for item in PROFILES if item.lower() == text.lower()]
    if text and not found:
        raise typer.BadParameter(f"there is no profile '{text}'; available: {', '.join(PROFILES)}")
    return "".join(found)


Namespace = Annotated[
    str | None,
    options.option("--namespace", "-n", help=f"Namespace of the release. Default: the operator's, or else {NAMESPACE}."),
]
Domain = Annotated[
    str | None,
    options.option("--domain", metavar="DOMAIN", parser=read_domain, help="Domain of the jobs' URLs, as `apps.example.com`."),
]
Image = Annotated[
    str | None, options.option("--image", metavar="IMAGE", parser=read_image, help="Nestor's image, without a tag.")
]
Wanted = Annotated[
    str | None,
    options.option(
        "--profile", metavar="PROFILE", parser=read_profile, help=f"Profile of the class `default`: {', '.join(PROFILES)}."
    ),
]


@functools.partial(options.acting, namespace=Namespace)
async def install(  # noqa: PLR0913, PLR0917 - the command line's options
    place: Place,
    domain: Domain = None,
    ingress_class: Annotated[str | None, options.option("--ingress-class", help="IngressClass of the URLs.")] = None,
    image: Image = None,
    profile: Wanted = None,
    chart: Annotated[str, typer.Option("--chart", help="The chart: a folder or `oci://…`.")] = CHART,
    values: Annotated[Path, typer.Option("--values", help="The values file.")] = Path("nestor-values.yaml"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the values and the command.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; stop if the cluster has a problem.")] = False,
) -> int:
    """Install Nestor, or change its values: check the cluster, write a values file, and run Helm.

    An existing values file is kept, with the options merged into it. Without one, on a terminal, this asks for what the
    options leave open. Files and cluster are changed only after confirmation, or with --yes.
    """
    from nestor.clients.cli.diagnosis import facts, installation  # noqa: PLC0415 - as in `doctor`

    there = _read(values)
    async with session.opened(place) as opened:
        found = await facts.read_installation(opened)
    where = place.namespace or next((item["metadata"]["namespace"] for item in found.operators or ()), NAMESPACE)
    if there is None and found.operators:
        hint = f"helm get values nestor -n {where} -o yaml > {shlex.quote(str(values))}"
        raise Failure(f"Nestor is installed, and its values are not in {values}", Code.USAGE, hint=hint)
    if there is None and session.can_ask():
        known = ", ".join(item["metadata"]["name"] for item in found.ingress_classes or ()) or "none"
        domain = domain or read_domain(session.ask("Domain of the jobs' URLs (empty: no URLs)"))
        ingress_class = ingress_class or session.ask(f"IngressClass (empty: the default; there: {known})")
        image = image or read_image(session.ask(f"Nestor's image, without a tag (empty: {IMAGE})"))
        profile = profile or read_profile(session.ask(f"Profile, one of {', '.join(PROFILES)} (empty: {PROFILES[0]})"))
    if there is None:
        image, profile = image or IMAGE, profile or PROFILES[0]
    expose = {"domain": domain, "ingressClassName": ingress_class}
    made = merge(there or {}, {"image": {"repository": image}, "defaultClass": {"profile": profile, "expose": expose}})
    findings = [*installation.judge_server(found), *installation.judge_ingress("default", _find_expose(made), found)]
    show({"Cluster": findings}, None)
    version = ["--version", __version__] if chart.startswith("oci://") else []
    command = ["helm", "upgrade", "--install", "nestor", chart, *version, "--namespace", where, "--create-namespace"]
    command += ["--values", str(values), "--wait", *session.list_options(opened.context, "--kube-context")]
    console.out().print(Text(f"\n{values}:\n{output.dump_yaml(made)}\n{shlex.join(command)}"), soft_wrap=True)
    if dry_run:
        return Code.OK
    _agree(is_bad=any(finding.level == "bad" for finding in findings), yes=yes)
    return _run(command, values, None if made == there else output.dump_yaml(made))


def _read(file: Path) -> Object | None:
    """None if there is no such file. Raises `Failure`."""
    if not file.exists():
        return None
    content = [document.content for document in documents.read(documents.load(file), str(file))] or [{}]
    if len(content) != 1 or not isinstance(content[0], dict):
        raise Failure(f"{file} is not a values file: it must contain one YAML mapping", Code.USAGE)
    return content[0]


def merge(values: Object, options: Object) -> Object:
    """The values, with the options that are given over them. Pure."""
    made = dict(values)
    for key, value in options.items():
        if isinstance(value, dict):
            inside = made.get(key)
            value = merge(inside if isinstance(inside, dict) else {}, value)  # noqa: PLW2901
        if value:
            made[key] = value
    return made


def _find_expose(values: Object) -> Object:
    found: Any = values
    for key in ("defaultClass", "expose"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _agree(*, is_bad: bool, yes: bool) -> None:
    """Raises `Failure` unless Helm may be run."""
    if shutil.which("helm") is None:
        raise Failure("Helm is not installed on this machine", Code.USAGE, hint="install Helm 3.14 or later: https://helm.sh")
    if is_bad and (yes or not session.can_ask()):
        hint = "fix what is marked above, or confirm on a terminal, without --yes"
        raise Failure("the cluster has a problem; nothing was installed", hint=hint)
    if not yes and not session.can_ask():
        raise Failure("nothing was installed", Code.USAGE, hint="add --yes to agree")
    if not yes:
        session.confirm("Write these values and run this command?" if not is_bad else "Install despite the problem?")


def _run(command: list[str], file: Path, text: str | None) -> int:
    """`text`: of the file, if that changes."""
    if text is not None:
        try:
            file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise Failure(f"{file} cannot be written: {error.strerror or error}", Code.USAGE) from error
    if code := subprocess.run(command, check=False).returncode:
        raise Failure(f"Helm failed with exit code {code}", hint="the command above can be run again")
    console.tell("installed; `nestor doctor` checks it", mark="good")
    return Code.OK
