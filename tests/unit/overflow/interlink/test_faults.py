"""Faults of a backend and of the way to it. None of them fails a pod, starts one twice, or shows a secret."""

import asyncio
import json

import pytest
from aiohttp import web

from nestor.api.backend_kinds import AllowedAnnotation
from nestor.api.contracts import vnode
from nestor.api.objects import Object, annotations_of
from nestor.overflow.interlink import client, questions
from nestor.overflow.interlink import provider as module
from nestor.overflow.interlink.client import Lost
from nestor.pods.providers.base import Inputs
from nestor.pods.providers.errors import InvalidInput, NotFound, NotYet, ProviderError, Rejected, Unauthorized, Unreachable
from tests.fakes.interlink import Fault
from tests.unit.overflow.interlink.conftest import Backend, Clock

LONG = 3600.0
NEW = Inputs(is_new=True)


def build_pod(uid: str = "u-1") -> Object:
    spec = {"restartPolicy": "Never", "containers": [{"name": "app", "image": "x"}]}
    return {"metadata": {"name": f"web-{uid}", "namespace": "shop", "uid": uid}, "spec": spec}


def only(path: str, answer: Fault) -> Fault:
    async def fault(request: web.Request) -> web.StreamResponse | None:
        return await answer(request) if request.path == path else None

    return fault


def say(status: int, text: str = "", **headers: str) -> Fault:
    async def fault(_: web.Request) -> web.StreamResponse | None:
        return web.Response(status=status, text=text, headers=headers)

    return fault


async def hang_up(request: web.Request) -> web.StreamResponse | None:
    assert request.transport
    request.transport.close()
    return None


def wait_for(event: asyncio.Event) -> Fault:
    async def fault(_: web.Request) -> web.StreamResponse | None:
        await event.wait()
        return None

    return fault


async def test_slow_answers_are_given_up_and_fail_nothing(backend: Backend) -> None:
    provider, pod, late = backend.connect(call_seconds=0.1), build_pod(), asyncio.Event()
    await provider.create(pod, NEW)
    backend.fake.fault = wait_for(late)
    for call in (provider.statuses([pod]), provider.check(), provider.delete(build_pod("u-2"))):
        with pytest.raises(Unreachable, match="did not answer in time"):
            await call
    late.set()
    assert (await backend.connect().statuses([pod]))["u-1"]["phase"] == "Pending"


@pytest.mark.parametrize(("moment", "what"), [("fault", hang_up), ("after", hang_up), ("after", wait_for(asyncio.Event()))])
async def test_a_create_lost_on_the_way_there_or_back_starts_nothing_twice(backend: Backend, moment: str, what: Fault) -> None:
    provider, pod = backend.connect(create_seconds=1, call_seconds=1), build_pod()
    setattr(backend.fake, moment, only("/create", what))
    with pytest.raises(Lost):
        await provider.create(pod, NEW)
    setattr(backend.fake, moment, None)
    assert (await provider.create(pod, NEW))["metadata"]["annotations"]["JobID"] == "job-1"
    assert backend.fake.starts == ["u-1"]


@pytest.mark.parametrize(
    "answer",
    [
        say(500),  # the server has lost its plugin
        say(502),
        say(504),
        *(
            say(200, text)
            for text in ("", "OK", "<html>please log in</html>", '{"PodUID": ', '{"PodUID": "other", "PodJID": "x"}')
        ),
    ],
)
async def test_an_answer_that_is_none_of_the_backends_leaves_the_fate_of_a_pod_unknown(backend: Backend, answer: Fault) -> None:
    """A pod that counted as accepted, and is not there, would be given up after a minute."""
    provider, pod = backend.connect(settle_seconds=LONG), build_pod()
    backend.fake.fault = only("/create", answer)
    with pytest.raises(Lost):
        await provider.create(pod, NEW)
    backend.fake.fault = None
    with pytest.raises(NotYet, match="has not said yet"):
        await provider.create(pod, NEW)
    await backend.connect().create(pod, NEW)
    assert backend.fake.starts == ["u-1"]


async def test_what_may_not_be_repeated_has_a_connection_of_its_own(backend: Backend) -> None:
    """One that was used before may have ended without our knowledge."""
    provider, used = backend.connect(), []

    async def note(request: web.Request) -> web.StreamResponse | None:
        assert request.transport
        used.append((request.path, request.transport.get_extra_info("peername")[1]))
        return None

    backend.fake.fault = note
    for uid in ("u-1", "u-2"):
        await provider.create(build_pod(uid), NEW)
        await provider.statuses([build_pod(uid)])
    assert len({port for path, port in used if path == "/create"}) == 2
    assert len({port for path, port in used if path == "/status"}) == 1


async def test_a_create_that_was_never_sent_is_repeated_at_once(backend: Backend) -> None:
    pod, nobody = build_pod(), backend.connect(url="http://127.0.0.1:1", settle_seconds=LONG)
    for _ in range(2):
        with pytest.raises(Unreachable, match="cannot be reached") as caught:
            await nobody.create(pod, NEW)
        assert not isinstance(caught.value, Lost | NotYet)


async def test_pods_of_an_earlier_process_are_asked_about_before_they_are_sent(backend: Backend) -> None:
    pods = [build_pod("u-1"), build_pod("u-2"), build_pod("u-3")]
    await backend.connect().create(pods[0], NEW)
    provider = backend.connect(settle_seconds=LONG)
    assert (await provider.create(pods[0]))["metadata"]["annotations"]["JobID"] == "job-1"
    with pytest.raises(NotYet):  # the earlier process may have sent it, and the backend be slow
        await provider.create(pods[1])
    backend.fake.asked.clear()
    await provider.create(pods[2], NEW)
    assert backend.fake.asked == ["POST /create"]
    assert backend.fake.starts == ["u-1", "u-3"]


async def test_pods_that_have_ended_keep_their_status_while_they_are_known(backend: Backend) -> None:
    provider, pod = backend.connect(), build_pod()
    await provider.create(pod, NEW)
    pod["status"] = {"phase": "Failed", "reason": "DeadlineExceeded"}
    backend.fake.run("u-1")
    assert await provider.statuses([pod]) == {"u-1": pod["status"]}
    assert (await provider.get(pod))["status"] == pod["status"]
    backend.fake.pods.clear()
    assert await provider.statuses([pod]) == {}
    with pytest.raises(NotFound):
        await provider.get(pod)


async def test_errors_of_the_backend_are_told_in_its_words(backend: Backend) -> None:
    provider, pod = backend.connect(), build_pod()
    backend.fake.fault = only("/create", say(500, "no partition 'gpu'\x1b[31m" + "x" * 5000))
    with pytest.raises(ProviderError) as caught:
        await provider.create(pod, NEW)
    assert caught.value.message.startswith("no partition 'gpu' [31mx")
    assert len(caught.value.message) == 1024
    backend.fake.fault = None
    await provider.create(pod, NEW)
    assert backend.fake.starts == ["u-1"]
    assert backend.fake.asked[-2:] == ["GET /status", "POST /create"]


@pytest.mark.parametrize(
    ("status", "text", "error", "words"),
    [
        *((status, "because", InvalidInput, "because") for status in (400, 422)),
        *((status, "because", Unauthorized, "the backend refuses our credentials: because") for status in (401, 403)),
        (404, "because", Unreachable, "nothing creates pods at this URL: because"),
        (429, "because", NotYet, "because"),
        (500, "because", Rejected, "because"),
        # Something on the way, which does not know the protocol, refuses no pod; and a redirect is not followed.
        *((status, "because", Unreachable, "because") for status in (307, 405, 406, 407, 415, 421, 426, 431, 503)),
        # A plugin passes on the words of Slurm's commands like this.
        (504, "sbatch: error: no partition: nope\n", Rejected, "sbatch: error: no partition: nope"),
        (
            504,
            "HTTP InterLink session s:  call exit status: 500. Body: sbatch: error: no &#39;gpu&#39;\n",
            Rejected,
            "sbatch: error: no 'gpu'",
        ),
    ],
)
async def test_a_refused_create_can_be_repeated(
    backend: Backend, status: int, text: str, error: type[ProviderError], words: str
) -> None:
    provider, pod = backend.connect(settle_seconds=LONG), build_pod()
    backend.fake.is_silent, backend.fake.fault = True, only("/create", say(status, text, Location="/elsewhere"))
    with pytest.raises(error) as caught:
        await provider.create(pod, NEW)
    assert (type(caught.value), caught.value.message) == (error, words)
    assert backend.fake.asked == ["POST /create"]
    backend.fake.fault = None
    await provider.create(pod, NEW)
    assert backend.fake.starts == ["u-1"]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """That of questions."""
    made = Clock()
    monkeypatch.setattr(questions, "time", made)
    return made


async def forget(request: web.Request) -> web.StreamResponse | None:
    """Slurm's plugin, asked about a job that Slurm has forgotten and that left no exit code."""
    return web.Response(status=500, text="no exit code") if request.path == "/status" and await request.json() else None


@pytest.mark.parametrize(("fault", "words"), [(None, "it says nothing"), (forget, "no exit code")])
async def test_a_pod_of_which_a_backend_tells_nothing_is_lost_after_a_while(
    backend: Backend, clock: Clock, fault: Fault | None, words: str
) -> None:
    """Silence alone is no loss: a plugin's answer may be from memory, to another client's question."""
    provider, pod = backend.connect(silent_seconds=600), build_pod()
    await provider.create(pod, NEW)
    known = dict(backend.fake.pods)

    async def is_silent_for_a_while() -> None:
        backend.fake.is_silent, backend.fake.fault = True, fault
        backend.fake.pods.clear()
        for _ in range(2):
            with pytest.raises(NotYet, match=words):
                await provider.get(pod)
            clock.now += 590

    await is_silent_for_a_while()
    # Its word begins the time anew.
    backend.fake.fault = None
    backend.fake.pods |= known
    assert (await provider.statuses([pod])).keys() == {"u-1"}
    await is_silent_for_a_while()
    with pytest.raises(NotFound):
        await provider.get(pod)


@pytest.mark.parametrize(
    ("wish", "arrives"),
    [
        ({"flags": "--time=9"}, {"flags": "--time=9"}),
        ({"flags": "--time=9 --account=root"}, {}),
        ({"flags": "--time=9\nrm -r ~"}, {}),
        ({"flags": "--time=9\n"}, {}),
        ({"pre-exec": "rm -r ~"}, {}),
    ],
)
async def test_of_a_nested_pods_annotations_those_arrive_that_the_backend_allows(
    backend: Backend, wish: Object, arrives: Object
) -> None:
    """Whoever breaks into a syncer may write annotations of host pods. They do not arrive."""
    provider = backend.connect(
        annotations={"flags": "--time=1"}, allowed_annotations=[AllowedAnnotation(key="flags", pattern="--time=[0-9]")]
    )
    own, pod = {"nestor.dev/nested-name": "a"}, build_pod()
    written = {"nestor.dev/backend-annotations": json.dumps(wish), "flags": "--time=8", "pre-exec": "rm -r ~"}
    pod["metadata"] |= {"annotations": own | written, "labels": {"nestor.dev/nested-uid": "n"}}
    made = await provider.create(pod, NEW)
    assert backend.fake.pods["u-1"]["pod"]["metadata"]["annotations"] == own | {"flags": "--time=1"} | arrives
    assert annotations_of(made).get("nestor.dev/dropped", "") == ", ".join(wish.keys() - arrives.keys())
    await provider.delete(pod)
    assert backend.fake.bodies[-1]["metadata"]["annotations"] == own


async def test_annotations_that_no_syncer_writes_are_refused(backend: Backend) -> None:
    pod = build_pod()
    pod["metadata"] |= {"annotations": {"nestor.dev/backend-annotations": "[1]"}, "labels": {"nestor.dev/nested-uid": "n"}}
    with pytest.raises(InvalidInput, match="malformed"):
        await backend.connect().create(pod, NEW)


async def test_a_pod_of_the_host_itself_has_its_own_annotations_there(backend: Backend) -> None:
    pod = build_pod()
    pod["metadata"]["annotations"] = {"flags": "--time=9", "note": "kept"}
    await backend.connect(annotations={"flags": "--time=1"}).create(pod, NEW)
    assert backend.fake.pods["u-1"]["pod"]["metadata"]["annotations"] == {"flags": "--time=1", "note": "kept"}


async def test_a_pod_with_too_much_to_say_does_not_keep_another_from_being_lost(backend: Backend, clock: Clock) -> None:
    provider = backend.connect(silent_seconds=600, answer_bytes=2000, bytes_per_pod=1000)
    silent, loud = build_pod("u-1"), build_pod("u-2")
    for pod in (silent, loud):
        await provider.create(pod, NEW)
    backend.fake.is_silent = True
    del backend.fake.pods["u-1"]
    with pytest.raises(NotYet, match="it says nothing"):
        await provider.get(silent)
    backend.fake.set_state("u-2", {"waiting": {"reason": "Queued", "message": "x" * 50_000}})
    with pytest.raises(Unreachable, match="more than"):
        await provider.get(loud)
    clock.now += 601
    with pytest.raises(NotFound):
        await provider.get(silent)


async def test_silence_about_a_pod_that_was_refused_at_first_is_no_loss(backend: Backend) -> None:
    provider, pod = backend.connect(), build_pod()
    backend.fake.fault = only("/create", say(500, "busy"))
    with pytest.raises(Rejected):
        await provider.create(pod, NEW)
    backend.fake.fault = None
    await provider.create(pod, NEW)
    backend.fake.is_silent = True
    backend.fake.pods.clear()
    with pytest.raises(NotYet, match="it says nothing"):
        await provider.get(pod)


async def test_a_backend_without_its_plugin_is_not_well_and_asked_once(backend: Backend) -> None:
    provider, pods = backend.connect(), [build_pod(f"u-{index}") for index in range(8)]
    backend.fake.fault = say(500, "503")
    with pytest.raises(Unreachable, match="answered status 500"):
        await provider.check()
    backend.fake.asked.clear()
    with pytest.raises(Unreachable):
        await provider.statuses(pods)
    assert len(backend.fake.asked) == 2


async def test_a_backend_that_has_the_pod_already_may_say_so(backend: Backend) -> None:
    backend.fake.fault = only("/create", say(409, "exists"))
    pod = build_pod()
    assert await backend.connect().create(pod, NEW) == pod


@pytest.mark.parametrize("text", ["", "OK", "[]", "null", '{"PodUID": 7}', '{"PodUID": "other", "PodJID": "x"}', "[[1]]"])
async def test_a_pod_that_is_there_is_accepted_whatever_the_answer_says(backend: Backend, text: str) -> None:
    backend.fake.after = only("/create", say(200, text))
    pod = build_pod()
    found = await backend.connect().create(pod, NEW)
    assert found == pod | {"metadata": pod["metadata"] | {"annotations": {"JobID": "job-1"}}}
    assert backend.fake.starts == ["u-1"]


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_question_that_is_refused_does_not_refuse_the_pod(backend: Backend, status: int) -> None:
    """It may run there: its creation was answered by nobody."""
    provider, pod = backend.connect(), build_pod()
    backend.fake.after = only("/create", hang_up)
    with pytest.raises(Lost):
        await provider.create(pod, NEW)
    backend.fake.after, backend.fake.fault = None, only("/status", say(status, "bad request"))
    with pytest.raises(ProviderError, match="bad request") as caught:
        await provider.create(pod, NEW)
    assert not isinstance(caught.value, InvalidInput)
    backend.fake.fault = None
    assert (await provider.create(pod, NEW))["metadata"]["annotations"]["JobID"] == "job-1"
    assert backend.fake.starts == ["u-1"]


async def test_a_backend_that_calls_a_repeated_create_a_mistake_has_the_pod(backend: Backend) -> None:
    """It shows the pod only a moment later than it has it."""
    provider, pod, hidden = backend.connect(), build_pod(), dict[str, Object]()
    backend.fake.after = only("/create", say(500, "database is locked"))
    with pytest.raises(ProviderError, match="locked"):
        await provider.create(pod, NEW)
    hidden["u-1"] = backend.fake.pods.pop("u-1")

    async def refuse(_: web.Request) -> web.StreamResponse:
        backend.fake.pods |= hidden
        return web.Response(status=400, text="duplicate")

    backend.fake.after, backend.fake.fault = None, only("/create", refuse)
    assert (await provider.create(pod, NEW))["metadata"]["annotations"]["JobID"] == "job-1"


@pytest.mark.parametrize("answer", [None, say(200), say(404, "no such job")])
async def test_what_an_earlier_process_may_have_sent_is_not_done_with_its_deletion(
    backend: Backend, answer: Fault | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was killed before the answer, and the backend may still be at work on the request."""
    sent = {"conditions": [{"type": vnode.SENT, "status": "True", "reason": vnode.SENDING}]}
    accepted = {"conditions": [{"type": vnode.SENT, "status": "True", "reason": vnode.ACCEPTED}]}
    provider = backend.connect(settle_seconds=LONG)
    backend.fake.fault = only("/delete", answer) if answer else None
    with pytest.raises(NotYet, match="about to start"):
        await provider.delete(build_pod() | {"status": sent})
    await provider.delete(build_pod("u-2") | {"status": accepted})
    await provider.create(build_pod("u-3"), NEW)
    await provider.delete(build_pod("u-3") | {"status": sent})  # the cache lags behind


@pytest.mark.parametrize("text", ["", "OK", "{}", "7", '"a"', "[" * 10_000, '[{"UID": "u-1"', "\ufeff[]", '{"u-1": []}'])
async def test_nonsense_is_no_news(backend: Backend, text: str) -> None:
    provider, pod = backend.connect(attempts=1), build_pod()
    await provider.create(pod, NEW)
    backend.fake.fault = only("/status", say(200, text))
    with pytest.raises(Unreachable):
        await provider.statuses([pod])


async def test_malformed_entries_do_not_hide_the_others(backend: Backend) -> None:
    provider, pods = backend.connect(), [build_pod("u-1"), build_pod("u-2")]
    for pod in pods:
        await provider.create(pod, NEW)
    good = backend.fake.pods["u-2"]["answer"]
    entries = [None, 7, {"UID": 5}, {"UID": "u-1", "containers": "x"}, {"UID": "u-3", "JID": "1"}, good]
    backend.fake.fault = only("/status", say(200, json.dumps(entries)))
    assert (await provider.statuses(pods)).keys() == {"u-2"}


async def test_huge_answers_are_not_read(backend: Backend) -> None:
    provider, pod = backend.connect(answer_bytes=1000, bytes_per_pod=1000, attempts=1), build_pod()
    await provider.create(pod, NEW)
    backend.fake.fault = say(200, "x" * 100_000)
    with pytest.raises(Unreachable, match="more than 2000 bytes"):
        await provider.statuses([pod])
    with pytest.raises(Unreachable, match="more than 1000 bytes"):
        await provider.check()


async def test_one_pod_with_too_much_to_say_does_not_hide_the_others(backend: Backend) -> None:
    provider, pods = backend.connect(answer_bytes=2000, bytes_per_pod=1000), [build_pod(f"u-{index}") for index in range(8)]
    for pod in pods:
        await provider.create(pod, NEW)
    backend.fake.set_state("u-5", {"waiting": {"reason": "Queued", "message": "x" * 50_000}})
    backend.fake.asked.clear()
    assert (await provider.statuses(pods)).keys() == {f"u-{index}" for index in range(8) if index != 5}
    assert len(backend.fake.asked) == 8  # a ping among them
    with pytest.raises(Unreachable, match="more than 3000 bytes"):
        await provider.statuses([pods[5]])


async def test_answers_without_end_are_given_up(backend: Backend) -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with pytest.raises(ConnectionError):  # noqa: PT012
            while True:
                await response.write(b" ")
                await asyncio.sleep(0.01)
        return response

    backend.fake.fault = drip
    with pytest.raises(Unreachable, match="in time"):
        await backend.connect(call_seconds=0.3).check()


async def test_a_thousand_pods_are_one_call(backend: Backend) -> None:
    provider, pods = backend.connect(), [build_pod(f"u-{index}") for index in range(1000)]
    backend.fake.pods = {
        pod["metadata"]["uid"]: {"answer": {"UID": pod["metadata"]["uid"], "JID": "1"}, "pod": pod} for pod in pods
    }
    assert len(await provider.statuses(pods)) == 1000
    assert backend.fake.asked == ["GET /status"]
    assert len(json.dumps(backend.fake.bodies[0])) < 500 * 1000


async def test_a_backend_that_always_fails_is_not_asked_without_end(backend: Backend) -> None:
    provider, pods = backend.connect(), [build_pod(f"u-{index}") for index in range(1000)]
    backend.fake.fault = only("/status", say(500, "database is gone"))
    with pytest.raises(ProviderError, match="database is gone"):
        await provider.statuses(pods)
    assert len(backend.fake.asked) <= 66


async def test_temporary_faults_of_questions_are_bridged(backend: Backend) -> None:
    provider, pod, faults = backend.connect(), build_pod(), [hang_up, say(503)]
    await provider.create(pod, NEW)

    async def stumble(request: web.Request) -> web.StreamResponse | None:
        return await faults.pop()(request) if faults else None

    backend.fake.fault = stumble
    assert (await provider.statuses([pod])).keys() == {"u-1"}


async def test_pauses_between_attempts_double_and_differ(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many processes do not ask again at the same moment."""
    pauses: list[float] = []

    class Clock:
        timeout = staticmethod(asyncio.timeout)

        @staticmethod
        async def sleep(seconds: float) -> None:
            pauses.append(seconds)

    monkeypatch.setattr(client, "asyncio", Clock)
    backend.fake.fault = say(503)
    with pytest.raises(Unreachable):
        await backend.connect(attempts=7, pause_seconds=0.2).check()
    shares = [pause / min(0.2 * 2**number, 5.0) for number, pause in enumerate(pauses)]
    assert len(set(shares)) == 6
    assert 0.7 <= min(shares) < max(shares) <= 1.3


async def test_something_on_the_way_that_knows_no_path_is_not_believed(backend: Backend) -> None:
    provider, pod = backend.connect(), build_pod()
    await provider.create(pod, NEW)
    backend.fake.fault = say(404, "default backend")
    for call in (provider.statuses([pod]), provider.delete(pod), provider.check(), provider.create(build_pod("u-2"))):
        with pytest.raises(Unreachable, match="default backend"):
            await call
    assert "u-1" in backend.fake.pods


@pytest.mark.parametrize(
    ("knows", "answer"), [(True, say(500, "scancel failed")), (False, say(500, "scancel failed")), (False, hang_up)]
)
async def test_an_error_of_a_deletion_counts_only_while_the_pod_is_there(backend: Backend, knows: bool, answer: Fault) -> None:
    provider, pod = backend.connect(), build_pod()
    await provider.create(pod, NEW)
    backend.fake.fault = only("/delete", answer)
    if knows:
        with pytest.raises(ProviderError, match="scancel failed"):
            await provider.delete(pod)
    else:
        backend.fake.pods.clear()
        await provider.delete(pod)


async def test_a_pod_that_may_still_be_started_is_not_done_with_its_deletion(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    provider, pod = backend.connect(settle_seconds=60), build_pod()
    backend.fake.after = only("/create", hang_up)
    with pytest.raises(Lost):
        await provider.create(pod, NEW)
    with pytest.raises(NotYet, match="about to start"):
        await provider.delete(pod)
    assert backend.fake.pods == {}
    clock.now += 60
    await provider.delete(pod)


@pytest.mark.parametrize("status", [400, 401, 403, 500])
async def test_a_token_that_a_backend_repeats_is_not_shown(backend: Backend, status: int) -> None:
    async def repeat(request: web.Request) -> web.StreamResponse | None:
        return web.Response(status=status, text=f"headers: {dict(request.headers)}")

    provider = backend.connect(bearer=lambda: "very-secret-token\n")
    backend.fake.fault = repeat
    with pytest.raises(ProviderError) as caught:
        await provider.check()
    assert "very-secret" not in caught.value.message
    assert "Bearer ***" in caught.value.message


async def test_a_token_that_was_renewed_is_used_and_an_old_one_tried_only_once(backend: Backend) -> None:
    tokens = ["old", "new", "new"]

    async def check(request: web.Request) -> web.StreamResponse | None:
        return None if request.headers["Authorization"] == "Bearer new" else web.Response(status=401, text="expired")

    backend.fake.fault = check
    pod = build_pod()
    await backend.connect(bearer=lambda: tokens.pop(0)).create(pod, NEW)
    assert backend.fake.asked == ["POST /create"] * 2
    assert backend.fake.starts == ["u-1"]
    backend.fake.asked.clear()
    with pytest.raises(Unauthorized, match="expired"):
        await backend.connect(bearer=lambda: "old").check()
    assert len(backend.fake.asked) == 1
