"""Apps that are timed, by watches: from their creation until they answer, and from their deletion until they are gone."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Coroutine, Iterable
from dataclasses import dataclass, field

from nestor.api import conditions
from nestor.api.class_choice import read_effective
from nestor.api.objects import Object, conditions_of, status_of
from nestor.clients.cli import console, manifests, session, web
from nestor.clients.cli.bench import app as bodies
from nestor.clients.cli.bench.figures import STAGES
from nestor.clients.cli.exits import Failure, explain
from nestor.clients.cli.manifests import Wishes
from nestor.clients.cli.session import Session
from nestor.clients.cli.view import facts
from nestor.kube import ApiError, Kind, kinds

LIMIT_SECONDS = 600
"""For an app to become ready, and to be gone."""
ANSWER_SECONDS = 15
"""For the page of an app that is ready."""
_CONDITIONS = {"clusterReady": conditions.CLUSTER_READY, "ready": conditions.READY}


@dataclass
class App:
    """One that is timed: a job, or a Deployment of the floor."""

    name: str
    kind: Kind
    times: dict[str, float] = field(default_factory=dict)
    """Seconds by stage."""
    problem: str = ""
    state: Object = field(default_factory=dict)
    begin: float = 0.0

    @property
    def is_job(self) -> bool:
        return self.kind is kinds.NESTED_APP_JOB

    def reach(self, stage: str) -> None:
        self.times.setdefault(stage, round(time.monotonic() - self.begin, 3))

    def take(self, state: Object | None) -> bool:
        """Note a state; whether it is ready. Raises `Failure` if it never will be."""
        if state is None:
            raise Failure("it was deleted meanwhile")
        self.state = state
        reached = {"ready": bool(status_of(state).get("availableReplicas"))}
        if self.is_job:
            reached = {stage: conditions.is_true(conditions_of(state), kind) for stage, kind in _CONDITIONS.items()}
            if (ending := facts.find_ending(state, until_finished=False)) and not ending.is_good:
                raise Failure(f"{ending.reason}: {ending.message}")
        for stage in [stage for stage, is_reached in reached.items() if is_reached]:
            self.reach(stage)
        return all(reached.values())

    def __str__(self) -> str:
        said = ", ".join(f"{STAGES[stage]} {seconds:.1f} s" for stage, seconds in self.times.items())
        return f"{self.name}: {self.problem or said}"


@dataclass
class Bench:
    """One call of the command. Its ConfigMap `name` owns all other objects, so nothing outlives it."""

    opened: Session
    name: str
    image: str
    wishes: Wishes
    owner: Object
    url: str | None = None
    """Of the first job: the floor's pages are served there as well."""
    answers: bool | None = None
    """Whether pages can be reached from here; None: not known yet."""
    ingress_class: str | None = None

    async def warm_up(self, *, with_floor: bool) -> None:
        """Have the images pulled, and learn what the rounds need. Raises `Failure`."""
        [job] = first = await self._run_round("first-job", [1], kinds.NESTED_APP_JOB)
        self.url = facts.url_of(job.state)
        with contextlib.suppress(ApiError, KeyError):
            found = read_effective(await self.opened.api.get(kinds.NESTED_CLASS, status_of(job.state)["className"]))
            self.ingress_class = (found.get("expose") or {}).get("ingressClassName")
        if with_floor and not job.problem:
            first += await self._run_round("first-floor", [1], kinds.DEPLOYMENT)
        if failed := [app for app in first if app.problem]:
            raise Failure(str(failed[0]), hint="" if failed[0].is_job else "`--no-floor` measures jobs alone")
        self.answers = all("http200" in app.times for app in first)

    async def measure(self, count: int, at_once: int, *, with_floor: bool) -> list[App]:
        """So many jobs, in rounds; before each round, as many apps of the floor."""
        found: list[App] = []
        places = {"floor": kinds.DEPLOYMENT} if with_floor else {}
        for first in range(1, count + 1, at_once):
            for word, kind in (places | {"job": kinds.NESTED_APP_JOB}).items():
                found += await self._run_round(word, range(first, min(first + at_once, count + 1)), kind)
        return found

    async def _run_round(self, word: str, numbers: Iterable[int], kind: Kind) -> list[App]:
        """All at once, and then none."""
        found = [App(f"{self.name}-{word}-{number}", kind) for number in numbers]
        await asyncio.gather(*(_attempt(app, self._start(app)) for app in found))
        await asyncio.gather(*(_attempt(app, self._stop(app)) for app in found))
        for app in found:
            console.tell(str(app), mark="bad" if app.problem else "good")
        return found

    async def _start(self, app: App) -> None:
        """Create it and wait until it is ready and, if it can be reached from here, its page answers."""
        app.begin = time.monotonic()
        await self._create(app)
        async with contextlib.AsyncExitStack() as stack:
            states = await stack.enter_async_context(contextlib.aclosing(self._watch(app)))
            fetching: asyncio.Task[None] | None = None
            async for state in states:
                is_ready = app.take(state)
                url = facts.url_of(app.state) if app.is_job else self.url
                if fetching is None and url and self.answers is not False:
                    fetching = asyncio.create_task(_fetch(app, url))
                    stack.callback(fetching.cancel)
                if is_ready:
                    break
            if fetching and not (await asyncio.wait([fetching], timeout=ANSWER_SECONDS))[0] and self.answers:
                raise Failure(f"no answer with 200 for {ANSWER_SECONDS} s after it was ready")

    async def _stop(self, app: App) -> None:
        """A Deployment is gone when all that belongs to it is; a job by itself."""
        app.begin = time.monotonic()
        how = {"propagationPolicy": "Background" if app.is_job else "Foreground"}
        await self.opened.api.request("DELETE", app.kind.path(self.opened.namespace, app.name), None, how)
        async with contextlib.aclosing(self._watch(app)) as states:
            async for state in states:
                if state is None:
                    break
        app.reach("gone")

    async def _create(self, app: App) -> None:
        if app.is_job:
            job = manifests.build_job(self.wishes, appdef=bodies.APPDEF, name=app.name)
            await create(self.opened, app.kind, app.name, job, self.owner)
            return
        owner = await create(self.opened, app.kind, app.name, bodies.build_deployment(app.name, self.image), self.owner)
        await create(self.opened, kinds.SERVICE, app.name, bodies.build_service(app.name), owner)
        await create(self.opened, kinds.INGRESS, app.name, bodies.build_ingress(app.name, self.ingress_class), owner)

    def _watch(self, app: App) -> AsyncGenerator[Object | None]:
        return session.watch_one(self.opened.api, app.kind, self.opened.namespace, app.name)


async def create(opened: Session, kind: Kind, name: str, body: Object, *owners: Object) -> Object:
    """Create an object in the session's namespace; how it is named as an owner."""
    meta = {"name": name, "namespace": opened.namespace, "ownerReferences": [*owners]}
    made = await opened.api.create(kind, body | {"metadata": meta})
    return {"apiVersion": kind.api_version, "kind": kind.name, "name": name, "uid": made["metadata"]["uid"]}


async def _attempt(app: App, doing: Coroutine[None, None, None]) -> None:
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            await doing
    except TimeoutError:
        why = (facts.condition(app.state, conditions.READY) or {}).get("message", "")
        app.problem = app.problem or f"not done after {LIMIT_SECONDS} s. {why}".strip()
    except (Failure, ApiError) as error:
        app.problem = app.problem or (error if isinstance(error, Failure) else explain(error)).message


async def _fetch(app: App, url: str) -> None:
    await web.fetch_when_ready(url, "" if app.is_job else bodies.find_host(app.name))
    app.reach("http200")
