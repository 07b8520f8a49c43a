"""Reading JARVICE's AppDef, version 2, verbatim, and choosing the command that a job runs. Faults name the field."""

import re
from typing import Any, NamedTuple

from pydantic import ValidationError

from nestor.api import faults
from nestor.api.appdef_keys import find_unknown, suggest, warn_of_unknown
from nestor.api.appdef_models import SPELLINGS, AppDef, Command, NestedKubernetes

KIND = "kns"
KIND_DEFAULT = "k8s"
"""What JARVICE takes when `appkind` is left out."""
_PATCH_FORM = re.compile(r"v?[0-9]+\.[0-9]+\..+", re.ASCII)
ANY_MACHINE = "*"


class AppDefError(ValueError):
    """An AppDef that cannot be read: `messages` holds one sentence per fault, each naming the field."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__(faults.join(messages))
        self.messages = messages


class CommandNotFound(AppDefError):
    """The AppDef is good and the job's `command` is not: unknown, left out where there are several, or no app for Nestor."""


class Chosen(NamedTuple):
    """The command that a job runs."""

    id: str
    command: Command
    nested: NestedKubernetes
    warnings: list[str]
    """Sentences about what is accepted and means less here than its author may think."""
    where: str = ""
    """The Kubernetes part's place in the AppDef, as the AppDef spells it."""
    machines: tuple[str, ...] = ()
    """Names of the machines that the application takes, with wildcards; empty: all."""
    vaults: tuple[str, ...] = ()
    """Kinds and names of the storage that the application takes."""


def read_appdef(content: Any) -> AppDef:
    """The AppDef. Raises `AppDefError`; nothing else, whatever `content` is."""
    fault = faults.find_fault(content, "appDef")
    if fault is not None:
        raise AppDefError([fault])
    try:
        return AppDef.model_validate(content)
    except ValidationError as error:
        raise AppDefError(faults.list_sentences(error, "appDef")) from error


def has_nested(command: Any) -> bool:
    """Whether a command, verbatim, has the Kubernetes part in either spelling."""
    return isinstance(command, dict) and any(command.get(key) is not None for key in SPELLINGS)


def list_commands(app: AppDef) -> list[str]:
    """The ids of the commands that Nestor can run, in the AppDef's order."""
    return [identifier for identifier, command in app.commands.items() if has_nested(command)]


def choose_command(app: AppDef, wanted: str | None) -> Chosen:
    """The command named `wanted`, or the only one there is. Raises `CommandNotFound`, or `AppDefError` for what is in it."""
    runnable = list_commands(app)
    identifier = wanted or (runnable[0] if len(runnable) == 1 else None)
    if identifier is None and runnable:
        raise CommandNotFound([f"`command` must be set, because the AppDef has several: {_quote(runnable)}"])
    if identifier is None or (identifier in app.commands and identifier not in runnable):
        which = f"command '{identifier}'" if identifier else f"no command of the AppDef ({_quote(list(app.commands))})"
        message = (
            f"{which} has {'no ' if identifier else ''}`nested_kubernetes`, which makes it an app for a nested cluster; "
            "without it, it is a container for JARVICE's own schedulers"
        )
        raise CommandNotFound([message + (f"; available: {_quote(runnable)}" if runnable else "")])
    if identifier not in app.commands:
        known = runnable or list(app.commands)
        more = _quote(known) + suggest(identifier, known)
        raise CommandNotFound([f"the AppDef has no command '{identifier}'; available: {more}"])
    command = _parse_command(app, identifier)
    nested = command.nested_kubernetes
    assert nested is not None  # it is runnable
    spelling = _find_spelling(app.commands[identifier]) or SPELLINGS[0]
    where = faults.name_field("appDef.commands", [identifier])
    unknown = [*find_unknown(app, "appDef"), *find_unknown(command, where, {SPELLINGS[0]: spelling})]
    warnings = [*list_warnings(app, identifier), *warn_of_unknown(unknown)]
    place = faults.name_field(where, [spelling])
    return Chosen(identifier, command, nested, warnings, place, list_machines(app), tuple(_list_words(app.vault_types)))


def _parse_command(app: AppDef, command: str) -> Command:
    try:
        return Command.model_validate(app.commands[command])
    except ValidationError as error:
        raise AppDefError(faults.list_sentences(error, faults.name_field("appDef.commands", [command]))) from error


def list_warnings(app: AppDef, identifier: str) -> list[str]:
    """What is accepted, and does not do here what it does in JARVICE."""
    warnings = []
    if app.appkind != KIND:
        said = f"is '{app.appkind}'" if app.appkind else f"is not set, which JARVICE takes for '{KIND_DEFAULT}'"
        warnings.append(f"`appDef.appkind` {said}: '{KIND}' is recommended for apps in a nested cluster; it is run all the same")
    if app.licensed:
        warnings.append("`appDef.licensed` has no effect: nothing here grants or counts licenses")
    raw = app.commands[identifier]
    key = _find_spelling(raw)
    if key is not None and isinstance(raw[key], dict):
        where = faults.name_field("appDef.commands", [identifier, key])
        warnings += [f"`{where}.{sentence}" for sentence in _warn_of_nested(raw[key])]
    return warnings


def _find_spelling(command: dict[str, Any]) -> str | None:
    """How a command, verbatim, writes the key of its Kubernetes part."""
    return next((key for key in SPELLINGS if command.get(key) is not None), None)


def list_machines(app: AppDef) -> tuple[str, ...]:
    """The patterns in the AppDef's `machines`."""
    return tuple(name.strip() for name in _list_words(app.machines) if name.strip())


def _list_words(value: list[str] | str | None) -> list[str]:
    return [value] if isinstance(value, str) else value or []


def _warn_of_nested(nested: dict[str, Any]) -> list[str]:
    """Keys of older tutorials, whose place something else has taken; each sentence goes on after the opened back-quote."""
    sentences = []
    version = nested.get("kubernetes_version")
    if isinstance(version, str) and _PATCH_FORM.fullmatch(version.strip()):
        sentences.append(f"kubernetes_version`: only major.minor of '{version}' is used, the patch is the class's choice")
    if nested.get("ingress_type") not in (None, "", "subdomain"):
        sentences.append("ingress_type` has no effect: every job has its own host name, as with 'subdomain'")
    if str(nested.get("enable_gotty_shell") or "").lower() == "true":
        sentences.append("enable_gotty_shell` has no effect: `nestor shell` opens a shell with the nested cluster's keys")
    if nested.get("limit_range") not in (None, "", [], {}):
        sentences.append("limit_range` has no effect: the job's class sets the limits of the nested cluster's pods")
    return sentences


def _quote(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
