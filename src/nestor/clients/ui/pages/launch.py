"""The form for a new job of an application, and what becomes of it."""

import asyncio
import contextlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from aiohttp import web
from multidict import MultiDict

from nestor.api.objects import Object
from nestor.clients.cli import manifests
from nestor.clients.ui import frame, words
from nestor.clients.ui.models import again, apps, inputs, launch
from nestor.clients.ui.models.apps import App, Command
from nestor.clients.ui.models.inputs import PREFIX
from nestor.clients.ui.models.jobs import job_path
from nestor.clients.ui.models.launch import Form
from nestor.clients.ui.visitor import Visitor, find_visitor
from nestor.clients.ui.words import Told
from nestor.kube import ApiError, kinds

FREE = "parameters"
"""The field for parameters of an application whose AppDef is still in its image."""


FIELDS = tuple(item.name for item in fields(Form))


@dataclass(frozen=True)
class Sheet:
    """The form as it is shown: fresh, or with what was entered and what is wrong with it."""

    app: App
    command: Command | None
    form: Form
    entered: Mapping[str, Sequence[str]] | None = None
    free: str = ""
    faults: Mapping[str, str] = field(default_factory=dict)
    """Of the fields that every form has, by field."""
    said: Sequence[str] = ()
    """About the parameters."""
    told: Told | None = None
    status: int = 200
    source: str = ""
    """Namespace and name of the job that it was filled from."""
    kept: Object = field(default_factory=dict)
    missing: Sequence[str] = ()


async def show(request: web.Request) -> web.Response:
    visitor = await find_visitor(request)
    app = await _find_app(visitor, request)
    name, source = launch.suggest_name(app.name, secrets.token_hex(8)), request.query.get("from", "")
    if source:
        return await _render(visitor, await _fill(visitor, app, request.query.get("command", ""), name, source))
    command = _choose(app, request.query.get("command", ""))
    form = Form(name, request.query.get("namespace") or visitor.context.namespace, "", command.id if command else "")
    return await _render(visitor, Sheet(app, command, form))


async def _fill(visitor: Visitor, app: App, wanted: str, name: str, source: str) -> Sheet:
    """The form for another job like the one that `source` names. Raises `ApiError`."""
    namespace, _, other = source.partition("/")
    job = await visitor.api.get(kinds.NESTED_APP_JOB, other, namespace)
    command = _choose(app, wanted or again.find_command(job))
    found = again.take_over(job, command.parameters if command else {}, name, command.id if command else "")
    return Sheet(app, command, source=source, **vars(found))


async def create(request: web.Request) -> web.Response:
    visitor = await find_visitor(request)
    app = await _find_app(visitor, request)
    posted = await request.post()
    sent = MultiDict((key, value) for key, value in posted.items() if isinstance(value, str))
    command = _choose(app, sent.get("command", ""))
    form = Form(**{key: sent[key].strip() for key in FIELDS if key in sent})
    entered = {key.removeprefix(PREFIX): sent.getall(key) for key in sent if key.startswith(PREFIX)}
    read = _read_parameters(command, entered, sent.get(FREE, ""))
    kept = _read_kept(sent.get("kept", ""))
    sheet = Sheet(app, command, form, entered, sent.get(FREE, ""), form.list_faults(), read.faults, kept=kept)
    if read.faults or sheet.faults:
        return await _render(visitor, replace(sheet, status=422))
    try:
        await _create(visitor, app, form, read, kept)
    except ApiError as error:
        told = words.tell(error, is_shared=visitor.is_shared)
        return await _render(visitor, replace(sheet, told=told, status=told.status))
    raise web.HTTPSeeOther(job_path(form.namespace, form.name))


def _read_parameters(command: Command | None, entered: Mapping[str, Sequence[str]], free: str) -> inputs.Entered:
    if command is not None and command.parameters is not None:
        return inputs.read_entered(command.parameters, entered)
    lines = [line.strip() for line in free.splitlines() if line.strip()]
    wrong = [
        f"'{line[:60]}' is not of the form NAME=VALUE" for line in lines if not line.partition("=")[0].strip() or "=" not in line
    ]
    return inputs.Entered({} if wrong else manifests.parse_parameters(lines), {}, tuple(wrong))


def _read_kept(text: str) -> Object:
    """What the form has carried of the job that it was filled from."""
    try:
        return again.list_kept(dict(json.loads(text or "{}")))
    except (ValueError, TypeError, RecursionError) as error:
        raise web.HTTPBadRequest(reason="That is not a form of this page.") from error


async def _create(visitor: Visitor, app: App, form: Form, read: inputs.Entered, kept: Object) -> None:
    """Make the job. One with passwords begins suspended: then its Secret can be the job's from its own creation on, so nobody
    needs permission to change or delete Secrets. Either all of it is there in the end, or nothing. Raises `ApiError`.
    """
    job = launch.build_job(app.name, form, read.plain, read.secret, visitor.name)
    job["spec"] = kept | job["spec"]
    made = await visitor.api.create(kinds.NESTED_APP_JOB, job, strict=True)
    if not read.secret:
        return
    meta = made["metadata"]
    try:
        await visitor.api.create(kinds.SECRET, launch.build_secret(made, read.secret))
        resumed = {"metadata": {"uid": meta["uid"]}, "spec": {"suspend": None}}
        await visitor.api.patch(kinds.NESTED_APP_JOB, meta["name"], meta["namespace"], resumed)
    except BaseException:
        with contextlib.suppress(ApiError):
            await visitor.api.delete(kinds.NESTED_APP_JOB, meta["name"], meta["namespace"], uid=meta["uid"])
        raise


async def _find_app(visitor: Visitor, request: web.Request) -> App:
    return apps.build_app(await visitor.api.get(kinds.NESTED_APP, request.match_info["app"]))


def _choose(app: App, wanted: str) -> Command | None:
    found = next((command for command in app.commands if command.id == wanted), None)
    return found or (app.commands[0] if app.commands else None)


async def _render(visitor: Visitor, sheet: Sheet) -> web.Response:
    classes, namespaces = await asyncio.gather(visitor.offer(kinds.NESTED_CLASS), visitor.offer_namespaces())
    offered = launch.offer_classes(classes, sheet.app.machines)
    first = offered[0].machines[0].value if offered else ""
    shown = inputs.build_inputs(sheet.command.parameters if sheet.command else None, sheet.entered, sheet.said)
    others = [sentence for sentence in sheet.said if not any(item.error and sentence.endswith(item.error) for item in shown)]
    form = sheet.form if sheet.form.where else replace(sheet.form, where=first)
    is_lost = bool(offered) and form.where not in {offer.value for item in offered for offer in item.machines}
    missing = [*sheet.missing, *([f"machine '{form.where}'"] if is_lost else [])]
    return frame.render(
        "launch.html",
        visitor,
        **vars(sheet) | {"form": form, "missing": missing},
        offers={"classes": offered},
        namespaces=namespaces,
        inputs=shown,
        others=others,
        units=list(launch.UNITS),
    )
