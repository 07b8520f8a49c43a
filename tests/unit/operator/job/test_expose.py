"""What jobs claim: by their specs, by their last pass, or, after a start, by their Ingresses; and what is opened."""

import copy
import random
from dataclasses import replace
from typing import Any

import pytest

from nestor.api import conditions, labels, names
from nestor.cluster.exposure.exposed import decide_exposed
from nestor.kube import ApiError, Forbidden, Invalid, RetryLater, kinds
from nestor.kube.informer import key_of
from nestor.operator.guest import Routes
from nestor.operator.job.expose import Openings, admit_routes, ensure_ingresses, is_waiting, observe_exposure
from nestor.operator.job.hosts import Hosts
from tests.unit.operator.builders import STEPS, TARGET, Object, build_job, build_resolved
from tests.unit.operator.scene import Scene

OTHER = TARGET | {"service_name": "api"}
HELD = "2026-01-02T00:00:00Z"
VICTIMS = "shop-team-b.jobs.test"
HOSTS = ["hello-team-a.jobs.test", "api--hello-team-a.jobs.test"]
HASHED = names.default_host("hello", "team-a", "jobs.test", is_shared=True)
SQUATTERS = names.default_host("hello-team", "a", "jobs.test", is_shared=True)
KNOWN = {*HOSTS, HASHED, SQUATTERS, VICTIMS, "shop.jobs.test", "other.jobs.test"}
"""All hosts that jobs of these tests may claim."""


def job(name: str = "hello", uid: str = "1234", created: str = "2026-01-01T00:00:00Z", **spec: Any) -> Object:
    made = build_job(name, nested={"targets": [TARGET, OTHER], "templates": STEPS}, **{"expose": {"allTargets": True}} | spec)
    made["metadata"] |= {"uid": uid, "creationTimestamp": created}
    return made


@pytest.fixture
def scene() -> Scene:
    """An operator that knows a class, and jobs as tests put them."""
    return Scene()


def put_ingress(scene: Scene, owner: Object, *hosts: str, name: str = "x", **own: str) -> None:
    meta = owner["metadata"]
    home = names.job_namespace(meta["name"], meta["namespace"], meta["uid"])
    marks = {labels.JOB_UID: meta["uid"], labels.COMPONENT: labels.COMPONENT_EXPOSURE} | own
    about = {"name": name, "namespace": home, "labels": marks, "creationTimestamp": HELD}
    scene.show(kinds.INGRESS, {"metadata": about, "spec": {"rules": [{"host": host} for host in hosts]}})


@pytest.fixture
def hosts(scene: Scene) -> Hosts:
    """What its jobs claim."""
    return Hosts(scene.context.cache, scene.context.classes)


def admit(scene: Scene, hosts: Hosts, found: Object, problem: str | None = None) -> Routes:
    resolved = build_resolved(found)
    hosts.note(resolved.uid, resolved.routes)
    return admit_routes(scene.context.cache, hosts, resolved, problem)


def claimed(hosts: Hosts) -> set[tuple[str, bool, bool]]:
    """Host, whether it is held and whether it is by name, of all claims."""
    return {(claim.host, claim.is_held, claim.is_default) for claim in hosts.find(KNOWN)}


async def test_a_job_claims_the_hosts_of_its_last_pass(scene: Scene, hosts: Hosts) -> None:
    scene.context.cache.jobs.put(job())
    assert claimed(hosts) == {(HOSTS[0], False, True)}
    routes = admit(scene, hosts, job())
    assert [route.host for route in routes] == HOSTS
    assert claimed(hosts) == {(HOSTS[0], False, True), (HOSTS[1], False, True)}


async def test_after_a_start_a_job_claims_what_its_ingresses_have(scene: Scene, hosts: Hosts) -> None:
    scene.context.cache.jobs.put(job())
    put_ingress(scene, job(), *HOSTS)
    assert claimed(hosts) == {(host, True, True) for host in HOSTS}


async def test_a_job_that_is_not_admitted_claims_what_it_has_and_nothing_else(scene: Scene, hosts: Hosts) -> None:
    refused = job() | {"status": {"conditions": [{"type": conditions.ADMITTED, "status": "False"}]}}
    scene.context.cache.jobs.put(refused)
    assert claimed(hosts) == set()
    # It was admitted before: its Ingresses stay, and nobody may put another one beside them.
    put_ingress(scene, refused, *HOSTS)
    assert {(host, is_held) for host, is_held, _ in claimed(hosts)} == {(host, True) for host in HOSTS}
    # Also where its class went, and its last pass is remembered.
    hosts.note(refused["metadata"]["uid"], build_resolved(refused).routes)
    for item in list(scene.context.cache.classes):
        scene.context.cache.classes._set(key_of(item), None)
    assert {(host, is_held) for host, is_held, _ in claimed(hosts)} == {(host, True) for host in HOSTS}


async def test_a_host_that_a_job_asks_for_is_not_its_own_by_name(scene: Scene, hosts: Hosts) -> None:
    scene.context.cache.jobs.put(job(expose={"host": "shop.jobs.test"}))
    assert claimed(hosts) == {("shop.jobs.test", False, False)}


async def test_the_younger_of_two_is_refused_that_host_and_keeps_its_others(scene: Scene, hosts: Hosts) -> None:
    # By its name it has the host that the other's further target has.
    older, younger = job("api--hello", "9", "2025-01-01T00:00:00Z", expose={}), job()
    for item in (older, younger):
        scene.context.cache.jobs.put(item)
    assert all(route.is_open for route in admit(scene, hosts, older)[:1])
    first, second = admit(scene, hosts, younger)
    assert first.is_open
    assert second.refusal == (
        conditions.HOSTNAME_CONFLICT,
        f"host '{HOSTS[1]}' is taken by the older job 'api--hello' in namespace 'team-a'; "
        "it is derived from the names of the Service, the job and its namespace",
    )
    assert is_waiting((first, second))
    assert not is_waiting((first,))


async def test_without_the_classs_certificate_no_target_is_open(scene: Scene, hosts: Hosts) -> None:
    scene.context.cache.jobs.put(job())
    routes = admit(scene, hosts, job(), "no Secret")
    assert [route.refusal for route in routes] == [(conditions.TLS_SECRET_NOT_FOUND, "no Secret")] * 2


def put_foreign(scene: Scene, host: str, created: str) -> None:
    """An Ingress of another tenant."""
    meta = {"name": "portal", "namespace": "team-evil", "creationTimestamp": created}
    scene.show(kinds.INGRESS, {"metadata": meta, "spec": {"rules": [{"host": host}]}})


@pytest.mark.parametrize("rule", [HOSTS[0], "*.jobs.test"])
@pytest.mark.parametrize("is_older", [False, True])
async def test_another_tenants_ingress_takes_nothing_from_a_job_that_has_its_host(
    scene: Scene, hosts: Hosts, rule: str, is_older: bool
) -> None:
    scene.context.cache.jobs.put(job())
    for number, host in enumerate(HOSTS):
        name = build_resolved(job()).routes[number].ingress
        put_ingress(scene, job(), host, name=name)
    put_foreign(scene, rule, "2025-01-01T00:00:00Z" if is_older else "2026-06-01T00:00:00Z")
    first, second = routes = admit(scene, hosts, job())
    assert all(route.is_open for route in routes)
    assert (first.refusal is not None) is (is_older and rule == HOSTS[0])
    assert second.refusal is None
    assert await ensure_ingresses(scene.context, build_resolved(job()), routes) == routes
    assert not [line for line in scene.api.asked if line.startswith("DELETE")]
    exposed = observe_exposure(scene.context.cache, build_resolved(job()), routes)
    assert exposed.url == f"http://{HOSTS[0]}:8080/"
    if first.refusal:
        assert decide_exposed(exposed).message.startswith(
            f"Ingress 'portal' in namespace 'team-evil' has host '{HOSTS[0]}' too and is older, so it may get the traffic; "
            "the job's own Ingress stays"
        )


async def test_a_host_that_a_job_does_not_have_yet_is_anothers(scene: Scene, hosts: Hosts) -> None:
    scene.context.cache.jobs.put(job())
    put_foreign(scene, HOSTS[0], "2026-06-01T00:00:00Z")
    first, second = admit(scene, hosts, job())
    message = f"host '{HOSTS[0]}' is taken by Ingress 'portal' in namespace 'team-evil'; choose another one with `expose.host`"
    assert (first.is_open, first.refusal) == (False, (conditions.HOSTNAME_CONFLICT, message))
    assert second.is_open


SYNCED = {labels.NESTED_UID: "n1"}


async def test_an_ingress_that_a_syncer_carries_is_neither_deleted_nor_counted(scene: Scene, hosts: Hosts) -> None:
    scene.context.cache.jobs.put(job())
    put_ingress(scene, job(), "tenant.test", name="theirs", **SYNCED)
    put_ingress(scene, job(), "old.test", name="old")
    resolved = build_resolved(job())
    assert hosts.held(job()) == {"old.test": HELD}
    await ensure_ingresses(scene.context, resolved, resolved.routes)
    assert [line.rpartition("/")[2] for line in scene.api.asked if line.startswith("DELETE")] == ["old"]


@pytest.mark.parametrize(
    ("denied", "is_terminating"),
    [
        (Forbidden(403, "Forbidden", "denied by a webhook"), False),
        (Invalid(422, "Invalid", "denied by a webhook"), False),  # as a ValidatingAdmissionPolicy answers
        (Forbidden(403, "Forbidden", "denied", {"causes": [{"reason": "NamespaceTerminating"}]}), True),
    ],
)
async def test_what_the_host_refuses_of_one_target_is_told_there_and_keeps_no_other_from_its_ingress(
    scene: Scene, hosts: Hosts, denied: ApiError, is_terminating: bool
) -> None:
    """Unless the namespace goes: then nothing is told, and the pass is over."""
    scene.api.refusal = lambda _, body: denied if body["spec"]["rules"][0]["host"] == HOSTS[0] else None
    scene.context.cache.jobs.put(job())
    routes = admit(scene, hosts, job())
    if is_terminating:
        with pytest.raises(RetryLater):
            await ensure_ingresses(scene.context, build_resolved(job()), routes)
        return
    first, second = await ensure_ingresses(scene.context, build_resolved(job()), routes)
    message = f"the host cluster refuses the Ingress for host '{HOSTS[0]}': denied by a webhook"
    assert (first.refusal, second.refusal) == ((conditions.INGRESS_REFUSED, message), None)
    assert second.is_open


async def test_an_ingress_that_the_host_refuses_is_not_open_even_if_its_host_would_be_kept(scene: Scene, hosts: Hosts) -> None:
    scene.api.refusal = lambda *_: Forbidden(403, "Forbidden", "denied by a webhook")
    scene.context.cache.jobs.put(job())
    put_ingress(scene, job(), HOSTS[0], name="hello")
    put_foreign(scene, HOSTS[0], "2025-01-01T00:00:00Z")
    routes = admit(scene, hosts, job())
    assert routes[0].is_kept
    first, _ = await ensure_ingresses(scene.context, build_resolved(job()), routes)
    assert (first.is_open, (first.refusal or ("",))[0]) == (False, conditions.INGRESS_REFUSED)


@pytest.mark.parametrize("seed", range(20))
async def test_the_index_misses_no_claim(scene: Scene, hosts: Hosts, seed: int) -> None:
    """After any changes, it finds what a look at every job finds."""
    dice = random.Random(seed)
    jobs = [
        job("hello", "1"),
        job("api--hello", "2"),
        job("evil", "3"),
        build_job("hello-team", "a"),
        build_job("shop", "team-b"),
    ]
    for number, made in enumerate(jobs):
        made["metadata"]["uid"] = f"u{number}"
    for version in range(60):
        made = dice.choice(jobs)
        made["metadata"]["resourceVersion"] = str(version)
        made["spec"]["expose"] = {"host": dice.choice([None, "shop.jobs.test", VICTIMS]), "allTargets": True}
        made["status"] = {"conditions": [{"type": conditions.ADMITTED, "status": dice.choice(["True", "False"])}]}
        known = scene.context.cache.jobs.get(made["metadata"]["name"], made["metadata"]["namespace"])
        step = dice.randrange(6)
        if step == 0 and known is not None:
            scene.context.cache.jobs._set(key_of(known), None)
            made["metadata"]["uid"] += "x"
        elif step == 1:
            put_ingress(scene, made, *dice.sample(sorted(KNOWN), 2), name=f"i{dice.randrange(2)}")
        elif step == 2:
            scene.show(kinds.NAMESPACE, {"metadata": {"name": dice.choice(["a", "b", "team-a"])}})
        elif step == 3 and known is not None:
            admit(scene, hosts, known)
        else:
            scene.context.cache.jobs.put(copy.deepcopy(made))
        expected = {
            claim
            for found in scene.context.cache.jobs
            for claim in hosts.of(found)
            if claim.is_held or found["status"]["conditions"][0]["status"] == "True"
        }
        assert {claim for host in KNOWN for claim in hosts.find({host})} == {item for item in expected if item.host in KNOWN}


NESTED = {"targets": [TARGET, TARGET | {"service_name": "api"}], "templates": STEPS}
RESOLVED = build_resolved(build_job(nested=NESTED, expose={"allTargets": True}))
SELECTOR = {"nestor.dev/cluster": "hello", "app": "web"}


def name_open(scene: Scene) -> set[str]:
    return {item["metadata"]["name"] for item in scene.api.every(kinds.NETWORK_POLICY.plural)}


def put_service(scene: Scene, name: str, ports: list[Object], selector: Object | None = None) -> None:
    """A host Service, as the syncer makes it."""
    meta = {"name": names.host_name(name, "default"), "namespace": RESOLVED.home.namespace}
    scene.show(
        kinds.SERVICE, {"metadata": meta, "spec": {"ports": ports, "selector": SELECTOR if selector is None else selector}}
    )


PORT = {"protocol": "TCP", "port": 8080, "targetPort": "http"}


async def test_each_target_is_opened_once_its_service_is_there_and_no_other_port_of_it(scene: Scene) -> None:
    openings = Openings(scene.context)
    await openings.ensure(RESOLVED, RESOLVED.routes)
    assert name_open(scene) == set()
    put_service(scene, "web", [{"protocol": "TCP", "port": 9090, "targetPort": 9090}, PORT])
    put_service(scene, "api", [{"protocol": "TCP", "port": 8080}])
    put_service(scene, "database", [{"protocol": "TCP", "port": 8080}])
    await openings.ensure(RESOLVED, RESOLVED.routes)
    further = f"{RESOLVED.routes[1].ingress}-exposed"
    found = {
        item["metadata"]["name"]: (item["spec"]["podSelector"], item["spec"]["ingress"][0]["ports"])
        for item in scene.api.every(kinds.NETWORK_POLICY.plural)
    }
    assert found == {
        "hello-exposed": ({"matchLabels": SELECTOR}, [{"protocol": "TCP", "port": "http"}]),
        further: ({"matchLabels": SELECTOR}, [{"protocol": "TCP", "port": 8080}]),
    }
    assert scene.api.asked.count(f"LIST networkpolicies {RESOLVED.home.namespace}") == 1


@pytest.mark.parametrize(
    ("ports", "selector"), [([], None), ([{"protocol": "UDP", "port": 8080}], None), ([PORT], {}), ([{"port": 81}], None)]
)
async def test_a_service_that_leads_nowhere_opens_nothing(scene: Scene, ports: list[Object], selector: Object | None) -> None:
    put_service(scene, "web", ports, selector)
    await Openings(scene.context).ensure(RESOLVED, RESOLVED.routes)
    assert name_open(scene) == set()


async def test_what_is_exposed_no_longer_is_closed(scene: Scene) -> None:
    openings = Openings(scene.context)
    put_service(scene, "web", [PORT])
    await openings.ensure(RESOLVED, RESOLVED.routes)
    refused = tuple(replace(route, refusal=(conditions.HOSTNAME_CONFLICT, "taken")) for route in RESOLVED.routes)
    await openings.ensure(RESOLVED, refused)
    assert name_open(scene) == set()
    await openings.ensure(RESOLVED, RESOLVED.routes)
    assert name_open(scene) == {"hello-exposed"}


async def test_a_new_operator_closes_what_an_earlier_one_opened(scene: Scene) -> None:
    exposure = {labels.COMPONENT: labels.COMPONENT_EXPOSURE}
    for name, own in (("x-exposed", exposure), ("hello-app", {})):
        meta = {"name": name, "namespace": RESOLVED.home.namespace, "labels": {labels.CLUSTER: "hello"} | own}
        scene.api.put(kinds.NETWORK_POLICY, {"metadata": meta})
    openings = Openings(scene.context)
    await openings.ensure(RESOLVED, RESOLVED.routes)
    assert name_open(scene) == {"hello-app"}
    openings.forget(RESOLVED.home.namespace)
    await openings.ensure(RESOLVED, RESOLVED.routes)
    assert scene.api.asked.count(f"LIST networkpolicies {RESOLVED.home.namespace}") == 2
