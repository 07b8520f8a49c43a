"""Where a command acts: the user's cluster and namespace; and how it runs: errors become sentences and exit codes."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TypeVar

from nestor.api.labels import GROUP
from nestor.api.objects import Object, status_of
from nestor.clients.cli import console
from nestor.clients.cli.exits import Code, Failure, explain
from nestor.kube import Api, ApiError, Informer, Kind, NotFound, Unreachable, UserContext, kinds, read_context

T = TypeVar("T")
REQUEST_SECONDS = 20


@dataclass(frozen=True)
class Place:
    """Where the user wants to act; None: as the kubeconfig says."""

    namespace: str | None = None
    context: str | None = None
    kubeconfig: str | None = None

    def merged(self, outer: Place) -> Place:
        """These options, and those given before the command where these are not set."""
        return Place(self.namespace or outer.namespace, self.context or outer.context, self.kubeconfig or outer.kubeconfig)


_NOWHERE = Place()

OUTER: ContextVar[Place] = ContextVar("OUTER", default=_NOWHERE)
"""Options given before the command, as `nestor -n team-a list`."""


@dataclass(frozen=True)
class Session:
    """An open connection, and the namespace to act in."""

    api: Api
    namespace: str
    context: UserContext

    async def get_job(self, name: str) -> Object:
        """A job. Raises `Failure` that names the namespace searched."""
        return await self.get(kinds.NESTED_APP_JOB, name, self.namespace)

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object:
        """One object, with `apiVersion` and `kind`. Raises `Failure` when it is not there."""
        try:
            return await self.api.get(kind, name, namespace)
        except NotFound as error:
            if not error.details.get("name"):
                raise
            where = f" in namespace '{namespace}'" if namespace else ""
            listing = "nestor apps" if kind is kinds.NESTED_APP else "nestor list -A"
            raise Failure(
                f"no {kind.name} '{name}'{where}", Code.NOT_FOUND, hint=f"`{listing}` lists those that exist"
            ) from error


def find_context(place: Place) -> UserContext:
    place = place.merged(OUTER.get())
    context = read_context(place.kubeconfig, place.context)
    return replace(context, namespace=place.namespace or context.namespace)


@asynccontextmanager
async def opened(place: Place, *, timeout: float = REQUEST_SECONDS) -> AsyncIterator[Session]:
    """A session for the length of a `with` block."""
    context = find_context(place)
    async with await Api.connect(context.kubeconfig, context.name, manager="nestor-cli", timeout=timeout) as api:
        yield Session(api, context.namespace, context)


@asynccontextmanager
async def keeping(api: Api, kind: Kind, namespace: str | None, *, labels: str = "", fields: str = "") -> AsyncGenerator[Informer]:
    """The objects, kept up to date. Raises `ApiError`, such as `Forbidden`."""
    # An informer retries for ever; a missing permission to list is reported here.
    await api.list(kind, namespace, labels=labels, fields=fields)
    informer = Informer(api, kind, namespace, labels, fields)
    task = asyncio.create_task(informer.run())
    try:
        await informer.synced.wait()
        yield informer
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def watch(api: Api, kind: Kind, namespace: str | None, *, labels: str = "", fields: str = "") -> AsyncGenerator[Informer]:
    """The objects as they are, and again after each change. Close it (`aclosing`)."""
    changed = asyncio.Event()
    async with keeping(api, kind, namespace, labels=labels, fields=fields) as informer:
        informer.on_change(lambda _: changed.set())
        while True:
            changed.clear()
            yield informer
            await changed.wait()


async def watch_one(api: Api, kind: Kind, namespace: str, name: str) -> AsyncGenerator[Object | None]:
    """One object, in the same way; None while it is not there."""
    async with aclosing(watch(api, kind, namespace, fields=f"metadata.name={name}")) as watching:
        async for found in watching:
            yield found.get(name, namespace)


def run(command: Callable[[], int]) -> int:
    """Run a command and return its exit code; errors are reported as sentences."""
    logging.basicConfig(level=logging.CRITICAL)
    try:
        return command()
    except KeyboardInterrupt:
        return Code.INTERRUPTED
    except Failure as failure:
        return _tell(failure)
    except ApiError as error:
        return _tell(explain(error))
    except TimeoutError:
        return _tell(Failure("the cluster did not respond in time", Code.TIMED_OUT))
    except BrokenPipeError:
        return Code.OK


def find_kubectl(purpose: str) -> str:
    """The user's own. Raises `Failure`."""
    if found := shutil.which(os.environ.get("KUBECTL") or "kubectl"):
        return found
    raise Failure(f"{purpose} needs kubectl, which is not installed", Code.USAGE, hint="install kubectl, or set $KUBECTL")


def run_kubectl(*words: str, text: str = "", **environment: str) -> str:
    """What it prints. Raises `Failure` with what it complains about."""
    command = [find_kubectl(f"`kubectl {words[0]}`"), *words]
    ended = subprocess.run(command, input=text, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    if ended.returncode:
        # Its log's line or its own, by its version.
        said = re.sub(r'^(?:[EF]\d{4} .* err="(.*)"|error: (.*))$', r"\1\2", ended.stderr.strip(), flags=re.MULTILINE)
        raise Failure(f"kubectl {words[0]}: {said}", Code.USAGE)
    return ended.stdout


def list_options(context: UserContext, flag: str) -> list[str]:
    """What leads another program to the same cluster; `flag` is its option for contexts."""
    if context.kubeconfig is None:
        return []
    # Several files, as $KUBECONFIG lists them, are found by the same variable.
    is_one = os.pathsep not in context.kubeconfig
    return ([f"--kubeconfig={context.kubeconfig}"] if is_one else []) + [f"{flag}={context.name}"]


def can_ask() -> bool:
    """Whether the user is there to answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str) -> str:
    console.err().print(f"{console.clean(question)} ", end="", soft_wrap=True)
    # An event loop's own handler would let a Ctrl-C wait for the answer.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return sys.stdin.readline().strip()
    finally:
        signal.signal(signal.SIGINT, handler)


def confirm(question: str) -> None:
    """Ask before anything is lost or changed. Raises `Failure` unless the answer is yes."""
    if ask(f"{question} [y/N]").lower() not in ("y", "yes"):
        raise Failure("cancelled; nothing was changed")


async def do_each(items: Iterable[T], act: Callable[[T], Awaitable[None]]) -> int:
    """One after the other, even if an earlier one fails; the exit code is that of the first failure."""
    code: int = Code.OK
    for item in items:
        try:
            await act(item)
        except Unreachable:
            raise  # the others would wait for the same
        except (Failure, ApiError) as error:
            found = _tell(error if isinstance(error, Failure) else explain(error))
            code = code or found
    return code


def _tell(failure: Failure) -> int:
    console.tell_problem(failure.message, failure.hint)
    return failure.code


async def ask_name(api: Api) -> str:
    """Whom the API server takes this connection for; empty if it does not say."""
    body = {"apiVersion": kinds.SELF_REVIEW.api_version, "kind": kinds.SELF_REVIEW.name}
    try:
        found = await api.create(kinds.SELF_REVIEW, body)
    except ApiError:
        return ""
    return str((status_of(found).get("userInfo") or {}).get("username") or "")


async def may(api: Api, namespace: str, verb: str, resource: str, *, subresource: str = "", name: str = "") -> bool:
    """Whether the API server would let the user do that."""
    wanted = {"namespace": namespace, "verb": verb, "resource": resource, "subresource": subresource, "name": name}
    wanted["group"] = GROUP if resource.startswith("nested") else ""
    body = {
        "apiVersion": kinds.ACCESS_REVIEW.api_version,
        "kind": kinds.ACCESS_REVIEW.name,
        "spec": {"resourceAttributes": wanted},
    }
    answer = await api.request("POST", kinds.ACCESS_REVIEW.path(), None, body)
    return bool(status_of(answer).get("allowed"))
