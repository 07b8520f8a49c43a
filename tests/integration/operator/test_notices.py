"""Notices: a real operator tells real servers, which may be down, slow or rude, what becomes of jobs."""

from __future__ import annotations

import base64
import datetime
import ssl
import uuid
from pathlib import Path
from typing import Any

import pytest

from nestor.api import conditions
from nestor.cluster import certificates
from nestor.kube import Api, Invalid, kinds
from nestor.times import now
from tests.addresses import own_address
from tests.fakes.sink import FakeSink, answering, hang_up
from tests.integration import apiserver
from tests.integration.operator.conftest import Operator, operator_running
from tests.integration.operator.lifetime import POLICY, come_to, start, until_told
from tests.integration.operator.world import STEP, Object, build_class
from tests.waiting import eventually, job_with, wait_for

NESTED: Object = {"templates": [STEP]}
SYSTEM = "nestor-system"


@pytest.fixture
def address() -> str:
    """Where sinks listen: notices are not sent to loopback."""
    found = own_address()
    if found is None:
        pytest.skip("this machine has loopback alone")
    return found


async def make_class(api: Api, *sinks: Object, **notices: Any) -> str:
    """A class with these sinks."""
    name = f"told-{uuid.uuid4().hex[:6]}"
    body = build_class(name)
    body["spec"]["notices"] = {"sinks": list(sinks), **notices}
    await api.apply(kinds.NESTED_CLASS, body)
    return name


async def settled(api: Api, name: str, namespace: str, *wanted: tuple[str, str, str]) -> list[Object]:
    """The job's notices, once sink, type and state of all are these."""

    def is_it(job: Object | None) -> bool:
        found = (job or {}).get("status", {}).get("notices") or []
        return sorted((item["sink"], item["type"], item["state"]) for item in found) == sorted(wanted)

    job = await wait_for(api, kinds.NESTED_APP_JOB, name, namespace, is_it)
    assert job is not None
    notices: list[Object] = job["status"]["notices"]
    return notices


async def until_types(sink: FakeSink, *types: str) -> None:
    """Await that these events have arrived."""

    async def look() -> bool:
        return sink.types() == list(types)

    await eventually(look)


async def until_asked(sink: FakeSink, count: int) -> None:
    """Await this many requests."""

    async def look() -> bool:
        return len(sink.asked) >= count

    await eventually(look)


def make_tls(address: str, folder: Path) -> tuple[ssl.SSLContext, str]:
    """A server's TLS, and the authority to trust."""
    time = now()
    authority = certificates.new_authority("sink-ca", time)
    leaf = certificates.new_leaf(authority, "sink", time, datetime.timedelta(days=1), hosts=[address])
    (folder / "sink.pem").write_bytes(leaf.certificate + leaf.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "sink.pem")
    return context, authority.certificate.decode()


async def make_secret(api: Api, name: str, **data: str) -> None:
    """A Secret in the operator's namespace."""
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    await api.apply(kinds.SECRET, {"metadata": {"name": name, "namespace": SYSTEM}, "data": encoded})


async def test_sinks_are_told_of_a_job_from_ready_to_its_end(
    operator: Operator, api: Api, namespace: str, address: str, tmp_path: Path
) -> None:
    portal, pager, other = FakeSink(), FakeSink(), FakeSink()
    tls, authority = make_tls(address, tmp_path)
    await make_secret(api, "portal", token="s3cret", ca=authority)
    async with portal.serve(address, tls=tls) as url, pager.serve(address) as second, other.serve(address) as third:
        name = await make_class(
            api,
            {
                "name": "portal",
                "url": url,
                "tokenRef": {"name": "portal", "key": "token"},
                "caRef": {"name": "portal", "key": "ca"},
            },
            {"name": "pager", "url": second, "mode": "Binary", "types": ["Succeeded", "Failed"], "jobs": "Named"},
            {"name": "other", "url": third, "jobs": "Named"},
            source="https://cluster-a.test",
        )
        job, where = await start(
            api, "told", namespace, nested=NESTED, className=name, successPolicy=POLICY, notices={"sinks": ["pager"]}
        )
        await settled(api, "told", namespace, ("portal", "Ready", "Delivered"))
        await come_to(api, "told", where, "Succeeded", "Job 'pi' is complete")
        await settled(
            api,
            "told",
            namespace,
            ("portal", "Ready", "Delivered"),
            ("portal", "Succeeded", "Delivered"),
            ("pager", "Succeeded", "Delivered"),
        )
    assert portal.types() == ["ready", "succeeded"]
    assert portal.tokens == ["Bearer s3cret"] * 2
    assert (pager.types(), pager.tokens, other.asked) == (["succeeded"], [""], [])
    (told,) = pager.events
    status = (await api.get(kinds.NESTED_APP_JOB, "told", namespace))["status"]
    succeeded = conditions.find(status["conditions"], conditions.SUCCEEDED) or {}
    uid = job["metadata"]["uid"]
    assert told["id"] == f"{uid}.succeeded.{succeeded['lastTransitionTime']}"
    assert told["source"] == f"https://cluster-a.test/apis/nestor.dev/v1alpha1/namespaces/{namespace}/nestedappjobs/told"
    assert (told["type"], told["subject"]) == ("dev.nestor.job.succeeded", f"{namespace}/told")
    data = told["data"]
    assert data == portal.events[-1]["data"]
    assert (data["uid"], data["className"], data["reason"], data["command"]) == (uid, name, "Completed", "Hello")
    assert data["message"] == "Job 'pi' is complete"
    assert data["completionTime"] == status["completionTime"]


@pytest.mark.slow
async def test_a_sink_in_trouble_is_tried_again_with_the_same_event_and_nothing_waits_for_it(
    operator: Operator, api: Api, namespace: str, address: str
) -> None:
    sink = FakeSink()
    sink.faults = [answering(500), hang_up, sink.hang, answering(307, Location="/events")]
    async with sink.serve(address) as url:
        name = await make_class(api, {"name": "portal", "url": url, "timeoutSeconds": 1})
        _, where = await start(api, "trouble", namespace, nested=NESTED, className=name, successPolicy=POLICY)
        await job_with(api, "trouble", namespace, conditions.READY, "True")
        await until_asked(sink, 1)
        await come_to(api, "trouble", where, "Failed", "Job 'pi' has failed")
        await job_with(api, "trouble", namespace, conditions.SUCCEEDED, "False", conditions.TARGET_FAILED)
        await settled(api, "trouble", namespace, ("portal", "Ready", "Delivered"), ("portal", "Failed", "Delivered"))
    # An answer that a busy machine gives after more than that second is one more that was not heard.
    asked = [(item["type"].rpartition(".")[2], item["id"]) for item in sink.asked]
    told = list(dict.fromkeys(asked))
    assert [kind for kind, _ in told] == ["ready", "failed"]
    assert asked == sorted(asked, key=told.index)
    assert asked.count(told[0]) >= 5
    assert list(dict.fromkeys(sink.types())) == ["ready", "failed"]


async def test_while_it_fails_the_job_says_why_without_a_word_of_the_sinks(
    operator: Operator, api: Api, namespace: str, address: str
) -> None:
    sink = FakeSink()
    sink.faults = [answering(503)] * 100
    async with sink.serve(address) as url:
        name = await make_class(api, {"name": "portal", "url": url})
        await start(api, "why", namespace, nested=NESTED, className=name)

        def is_told(job: Object | None) -> bool:
            return any(item.get("problem") for item in (job or {}).get("status", {}).get("notices") or ())

        job = await wait_for(api, kinds.NESTED_APP_JOB, "why", namespace, is_told)
        assert job is not None
        (notice,) = job["status"]["notices"]
        assert (notice["state"], notice["problem"]) == ("Pending", "it answers with status 503")
        sink.faults.clear()
        # An admin who changes anything about the class is not kept waiting for the next attempt.
        await api.patch(kinds.NESTED_CLASS, name, None, {"spec": {"notices": {"source": "https://a.test"}}})
        (notice,) = await settled(api, "why", namespace, ("portal", "Ready", "Delivered"))
        assert notice["problem"] == ""
    assert "inner secret" not in str(job["status"])
    assert "inner secret" in operator.log.read_text()


async def test_one_that_cannot_be_delivered_is_given_up_with_an_event(
    operator: Operator, api: Api, namespace: str, address: str
) -> None:
    sink = FakeSink()
    async with sink.serve(address) as url:
        pass  # nobody listens there any more
    name = await make_class(api, {"name": "portal", "url": url, "giveUpAfterSeconds": 3})
    await start(api, "lost", namespace, nested=NESTED, className=name)
    (notice,) = await settled(api, "lost", namespace, ("portal", "Ready", "Undelivered"))
    assert notice["problem"] == "it cannot be reached: Connection refused"
    event = await until_told(api, namespace, "NoticeUndelivered")
    assert event["message"] == "sink 'portal' was not told 'Ready': it cannot be reached: Connection refused; given up"
    assert event["type"] == "Warning"
    assert address not in str(event)
    await job_with(api, "lost", namespace, conditions.READY, "True")


@pytest.mark.slow
async def test_an_operator_that_is_killed_in_between_is_no_loss(
    second_plane: apiserver.ControlPlane, lonely: Api, address: str
) -> None:
    namespace = f"team-{uuid.uuid4().hex[:6]}"
    await lonely.create(kinds.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    before, after = FakeSink(), FakeSink()
    before.faults = [before.hang]
    async with operator_running(second_plane) as operator, before.serve(address) as url:
        port = int(url.rsplit(":", 1)[1].partition("/")[0])
        name = await make_class(lonely, {"name": "portal", "url": url, "timeoutSeconds": 60})
        await start(lonely, "between", namespace, nested=NESTED, className=name)
        await until_asked(before, 1)
        operator.kill()
    (notice,) = await settled(lonely, "between", namespace, ("portal", "Ready", "Pending"))
    async with after.serve(address, port), operator_running(second_plane):
        await settled(lonely, "between", namespace, ("portal", "Ready", "Delivered"))
        assert after.types() == ["ready"]
        assert {after.events[0]["id"], before.asked[0]["id"]} == {notice["id"]}
    async with after.serve(address, port), operator_running(second_plane) as third:
        await third.heard(lonely)
        assert after.types() == ["ready"], "what is delivered is not sent again"
        await lonely.delete(kinds.NESTED_APP_JOB, "between", namespace)
        await wait_for(lonely, kinds.NESTED_APP_JOB, "between", namespace, lambda found: found is None)


@pytest.mark.slow
async def test_a_deletion_does_not_wait_and_the_notice_still_arrives(
    operator: Operator, api: Api, namespace: str, address: str
) -> None:
    sink = FakeSink()
    sink.faults = [sink.hang]
    async with sink.serve(address) as url:
        name = await make_class(api, {"name": "portal", "url": url, "timeoutSeconds": 60})
        await start(api, "gone", namespace, nested=NESTED, className=name)
        await until_asked(sink, 1)
        await api.delete(kinds.NESTED_APP_JOB, "gone", namespace)
        await wait_for(api, kinds.NESTED_APP_JOB, "gone", namespace, lambda found: found is None)
        assert sink.types() == []
        sink.closed.set()
        await until_types(sink, "ready")


async def test_no_sink_is_on_the_operators_own_node(operator: Operator, api: Api, namespace: str) -> None:
    sink = FakeSink()
    async with sink.serve("127.0.0.1") as url:
        by_name = url.replace("127.0.0.1", "localhost")
        name = await make_class(
            api, {"name": "a", "url": url, "giveUpAfterSeconds": 0}, {"name": "b", "url": by_name, "giveUpAfterSeconds": 0}
        )
        await start(api, "inward", namespace, nested=NESTED, className=name)
        notices = await settled(api, "inward", namespace, ("a", "Ready", "Undelivered"), ("b", "Ready", "Undelivered"))
    assert {item["problem"] for item in notices} == {"its address is not one that notices are sent to"}
    assert sink.asked == []


@pytest.mark.parametrize(
    ("sink", "said"),
    [
        ({"url": "http://169.254.169.254/latest"}, "link-local"),
        ({"url": "https://user:password@portal.test/"}, "without user, password or query"),
        ({"url": "http://portal.test/", "tokenRef": {"name": "a", "key": "b"}}, "must be an https URL"),
        ({"url": "http://portal.test/", "types": []}, "types"),
        ({"url": "ftp://portal.test/"}, "must be a URL"),
    ],
)
async def test_what_no_sink_may_be(api: Api, sink: Object, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        await make_class(api, {"name": "portal", **sink})
