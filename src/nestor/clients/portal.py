"""The pages of `nestor ui` in the cluster, behind an authenticating proxy of the admin's, in the name of whoever the proxy says.

It listens on loopback, where only the containers of its own pod are, and has no rights but to impersonate the users and groups
that the admin has listed. What these may do is the API server's to say.
"""

import argparse
import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web
from multidict import CIMultiDictProxy

from nestor.clients.ui import guard
from nestor.clients.ui.guard import Handler, Refused
from nestor.clients.ui.server import ADDRESS, build_app, build_runner
from nestor.clients.ui.visitor import Hub, Visitor
from nestor.kube import Api, UserContext
from nestor.kube.process import run_until_signal, set_up_log
from nestor.kube.serving.pages import METRICS, Pages

PORT = 8080
HEALTH_PORT = 8081
RESERVED = "system:"
"""What names of the cluster's own users and groups begin with."""
NAME_LIMIT = 256
GROUPS_LIMIT = 200
PEOPLE = 200
"""So many are remembered at a time, with the watches of the pages that they look at."""
log = logging.getLogger(__name__)
MANAGER = "nestor-portal"


@dataclass(frozen=True)
class Settings:
    """The settings. `kubeconfig` None means the pod's own service account."""

    host: str
    """What browsers have in their address bars."""
    scheme: str
    port: int
    health_port: int
    user_header: str
    groups_header: str
    user_prefix: str
    """What the names of users begin with in the cluster, and the proxy does not say; the same for groups."""
    groups_prefix: str
    groups: tuple[str, ...]
    """The groups that count, with their prefix. The others are left out: a role names those that may be impersonated."""
    kubeconfig: str | None = None


def parse(arguments: list[str]) -> Settings:
    parser = argparse.ArgumentParser(prog="nestor portal", description="Serve Nestor's pages to an authenticating proxy.")
    parser.add_argument("--host", required=True, help="host of the page's URL, with its port if it has one")
    parser.add_argument("--scheme", choices=("https", "http"), default="https", help="scheme of the page's URL")
    parser.add_argument("--port", type=int, default=PORT, help="port on 127.0.0.1 for the proxy")
    parser.add_argument("--health-port", type=int, default=HEALTH_PORT, help="port of /readyz, /healthz and /metrics")
    parser.add_argument("--user-header", default="X-Forwarded-User", help="header in which the proxy says who the user is")
    parser.add_argument(
        "--groups-header", default="X-Forwarded-Groups", help="header with the user's groups, separated by commas"
    )
    parser.add_argument("--user-prefix", default="", help="what the API server puts before names of users, as oidc:")
    parser.add_argument("--groups-prefix", default="", help="what it puts before names of groups")
    parser.add_argument("--group", dest="groups", action="append", default=[], help="a group that counts; can be repeated")
    parser.add_argument("--kubeconfig", help="kubeconfig instead of the pod's service account")
    found = vars(parser.parse_args(arguments))
    return Settings(**found | {"groups": tuple(found["groups"])})


@dataclass(frozen=True)
class Person:
    """A user with those groups that count."""

    name: str
    groups: tuple[str, ...] = ()


def read_person(headers: CIMultiDictProxy[str], settings: Settings) -> Person:
    """Whom the proxy has authenticated. Raises `Refused`. Pure."""
    said = headers.getall(settings.user_header, [])
    listed = headers.getall(settings.groups_header, [])
    if not said or not said[0].strip():
        raise Refused(401, "The proxy before this page did not say who you are.")
    if len(said) > 1 or len(listed) > 1:
        raise Refused(400, "The proxy before this page said more than once who you are.")
    name = settings.user_prefix + said[0].strip()
    if name.startswith(RESERVED) or not name.isprintable() or not name.isascii() or len(name) > NAME_LIMIT:
        raise Refused(403, "A user with such a name cannot use this page.")
    found = [settings.groups_prefix + group.strip() for group in (listed[0] if listed else "").split(",")[:GROUPS_LIMIT]]
    return Person(name, tuple(sorted({group for group in found if group in settings.groups and not group.startswith(RESERVED)})))


class People:
    """A connection, and watches, of everybody who looks at the pages."""

    def __init__(self, api: Api, settings: Settings) -> None:
        self._api, self._settings = api, settings
        self._known: dict[Person, Visitor] = {}

    @property
    def size(self) -> int:
        return len(self._known)

    async def find(self, request: web.Request) -> Visitor:
        """Who sent this request. Raises `Refused`."""
        person = read_person(request.headers, self._settings)
        is_full = person not in self._known and len(self._known) >= PEOPLE
        forgotten = self._forget() if is_full else None
        visitor = self._known.pop(person, None) or self._meet(person)
        self._known[person] = visitor  # the last one is the latest
        if forgotten is not None:
            await _close(forgotten)
        return visitor

    def _meet(self, person: Person) -> Visitor:
        api = self._api.in_the_name_of(person.name, person.groups)
        return Visitor(api, Hub(api), UserContext(self._settings.host, "default", None), person.name, is_shared=True)

    def _forget(self) -> Visitor:
        """Whoever has asked for nothing for longest. Raises `Refused` if all look at something."""
        idle = next((person for person, visitor in self._known.items() if not visitor.is_busy), None)
        if idle is None:
            raise Refused(503, "Too many people use this page at the same time. Try again later.")
        return self._known.pop(idle)

    async def close(self) -> None:
        while self._known:
            _, visitor = self._known.popitem()
            await _close(visitor)


async def _close(visitor: Visitor) -> None:
    try:
        await visitor.hub.close()
    finally:
        await visitor.api.close()


def main(arguments: list[str]) -> int:
    """Serve until a signal comes. Returns 1 if that fails."""
    set_up_log()
    settings = parse(arguments)
    try:
        asyncio.run(run_until_signal(run(settings)))
    except Exception:
        log.exception("exiting: a part of the process stopped unexpectedly")
        return 1
    return 0


async def run(settings: Settings) -> None:
    """Serve until cancelled. Loopback only: whoever reached the port could say to be anybody."""
    async with await Api.connect(settings.kubeconfig, manager=MANAGER) as api:
        people = People(api, settings)
        runner = build_runner(build_app(people.find, _build_check(settings)))
        await runner.setup()
        try:
            await web.TCPSite(runner, ADDRESS, settings.port).start()
            log.info("serving %s://%s on port %d of %s", settings.scheme, settings.host, settings.port, ADDRESS)
            probes = {"/readyz": lambda: None, "/healthz": lambda: None}
            metrics = {METRICS: lambda: f"# TYPE nestor_portal_people gauge\nnestor_portal_people {people.size}\n"}
            await Pages(probes, metrics).serve(settings.health_port)
        finally:
            try:
                await runner.cleanup()
            finally:
                await people.close()


def _build_check(settings: Settings) -> Callable[[web.Request, Handler], Awaitable[web.StreamResponse]]:
    hosts = frozenset({settings.host})

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        # Other sites may have links to pages, which change nothing: people send each other those of their jobs.
        is_page = request.headers.get("Sec-Fetch-Mode") in (None, "navigate")
        guard.check_request(request, hosts, scheme=settings.scheme, is_linked=is_page)
        return await handler(request)

    return check
