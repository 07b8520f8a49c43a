"""What a class, a machine and a job's wishes come to."""

from dataclasses import replace
from typing import Any

import pytest

from nestor.api import conditions, data
from nestor.api.placement import Overflow, Placement
from nestor.api.placement_rules import JobOverflow
from nestor.operator.admission.identity import Denial, Refused, identify
from nestor.operator.admission.placement import apply_machine, choose_machine, resolve_placement, tolerate_backends
from nestor.operator.world.host_facts import Taints, read_taints
from tests.unit.operator.builders import Object, build_job, build_policy, build_resolved, build_spec, deny, resolve

CLASS: Object = {
    "nodeSelector": {"site": "a"},
    "tolerations": ["site=a"],
    "allowedTolerations": ["gpu"],
    "allowedNodeLabels": ["zone", "site"],
    "schedulers": ["default-scheduler", "fluence"],
    "priorityClasses": {"default": "low", "allowed": ["high"]},
    "machines": [
        {"name": "n4", "description": "4 CPUs", "nodeSelector": {"pool": "n4"}, "tolerations": ["pool=n4"]},
        {"name": "n8", "nodeSelector": {"pool": "n8"}, "quota": {"requests.cpu": "8", "pods": "5"}},
    ],
    "overflow": {"backends": [{"name": "hpc", "weight": 10}, {"name": "cloud"}], "completionsTrigger": 9},
}


def found(rules: Object | None = CLASS, **spec: Any) -> Placement | None:
    """The placement of a job's pods, as the syncer gets it."""
    policy = build_policy(**({"placement": rules} if rules is not None else {}))
    return resolve_placement(policy, build_spec(**spec))[0]


def refusal(rules: Object | None = CLASS, **spec: Any) -> Denial:
    return deny(build_job(**spec), build_policy(**({"placement": rules} if rules is not None else {})))


def test_a_class_that_says_nothing_comes_to_nothing() -> None:
    assert found(None) is None
    assert found({}) is None
    assert found(None, machine="n4", placement={"nodeSelector": {}}) is None


def test_a_class_without_machines_is_what_it_says() -> None:
    rules = {key: value for key, value in CLASS.items() if key != "machines"}
    assert found(rules) == data.read(Placement, rules)


@pytest.mark.parametrize(
    ("default", "machine", "pool"),
    [(None, None, None), (None, "n4", "n4"), ("n8", None, "n8"), ("n8", "n4", "n4"), (None, "gone", None), ("n8", "gone", None)],
)
def test_a_machine_is_a_pool_of_nodes(default: str | None, machine: str | None, pool: str | None) -> None:
    rules = CLASS | ({"defaultMachine": default} if default else {})
    came = found(rules, **({"machine": machine} if machine else {}))
    assert type(came) is Placement
    assert "machines" not in data.write(came), "only what the syncer needs"
    assert came.node_selector == {"site": "a"} | ({"pool": pool} if pool else {})
    assert came.tolerations == (["site=a", "pool=n4"] if pool == "n4" else ["site=a"])


def test_a_machine_that_the_class_does_not_have_is_refused_with_those_that_it_has() -> None:
    refused = refusal(machine="n16")
    assert refused.reason == conditions.MACHINE_NOT_FOUND
    assert refused.message == "class 'default' has no machine named 'n16'; available: 'n4' (4 CPUs), 'n8'"
    assert refusal(machine="n-8").message.endswith("'n8'; did you mean 'n8'?")
    assert refusal(None, machine="n16").message == "class 'default' has no machine named 'n16'; available: none"


def test_a_machine_may_have_a_quota_of_its_own() -> None:
    namespace = {"quota": {"cpu": "2", "nvidia.com/gpu": "1"}, "defaultResources": {"limits": {"cpu": "1"}}}
    policy = build_policy(namespace=namespace, placement=CLASS)
    assert apply_machine(policy, None) is apply_machine(policy, "n4") is policy
    own = apply_machine(policy, "n8").namespace
    assert own.quota == {"requests.cpu": "8", "pods": "5", "requests.nvidia.com/gpu": "1"}
    assert own.default_resources == policy.namespace.default_resources
    assert resolve(build_job(machine="n8"), {"default": policy}).policy.namespace == own


def build_taking(*patterns: str, **spec: Any) -> Object:
    job = build_job(**spec)
    job["spec"]["app"]["appDef"]["machines"] = list(patterns)
    return job


@pytest.mark.parametrize(
    ("patterns", "default", "machine", "given"),
    [
        ((), None, None, None),
        (("*",), None, None, None),
        (("*",), "n8", None, "n8"),
        ((), "n8", "n4", "n4"),
        (("n8",), None, None, "n8"),
        (("n8",), "n4", None, "n8"),
        (("n8", "x"), "n8", None, "n8"),
        (("n?",), None, None, None),
        (("n?",), "n4", None, "n4"),
        (("N8", "n[48]"), None, None, None),
        (("n4*",), None, "n4", "n4"),
    ],
)
def test_the_appdef_says_which_machines_there_are_to_choose_from(
    patterns: tuple[str, ...], default: str | None, machine: str | None, given: str | None
) -> None:
    rules = CLASS | ({"defaultMachine": default} if default else {})
    resolved = resolve(build_taking(*patterns, machine=machine), {"default": build_policy(placement=rules)})
    assert resolved.spec.machine == given
    assert resolved.warnings == build_resolved(policy=build_policy(placement=rules)).warnings


@pytest.mark.parametrize(
    ("patterns", "machine", "message"),
    [
        (("gpu*", "big"), None,
         "a machine must be set for the application, whose AppDef takes 'gpu*', 'big' (`appDef.machines`); of class 'default', "
         "none does: it has 'n4' (4 CPUs), 'n8'"),
        (("n8",), "n4",
         "machine 'n4' does not suit the application, whose AppDef takes 'n8' (`appDef.machines`); of class 'default', these do: "
         "'n8'"),
        (("n8",), "n16", "class 'default' has no machine named 'n16'; available: 'n4' (4 CPUs), 'n8'"),
    ],
)  # fmt: skip
def test_a_machine_that_the_appdef_does_not_take_is_refused(patterns: tuple[str, ...], machine: str | None, message: str) -> None:
    found = deny(build_taking(*patterns, machine=machine), build_policy(placement=CLASS))
    assert (found.reason, found.message) == (conditions.MACHINE_NOT_FOUND, message)


def test_where_a_queue_counts_what_jobs_have_the_machine_must_be_known_before_the_appdef() -> None:
    queue = {"quota": {"pods": 20}}
    policy = build_policy(placement=CLASS | {"defaultMachine": "n4"}, queue=queue)
    assert resolve(build_taking("n8", machine="n8"), {"default": policy}).spec.machine == "n8"
    assert resolve(build_taking("*"), {"default": policy}).spec.machine == "n4"
    assert resolve(build_taking(), {"default": build_policy(placement=CLASS, queue=queue)}).spec.machine is None
    with pytest.raises(Refused, match=r"machine 'n4' does not suit the application.*these do: 'n8'"):
        resolve(build_taking("n8"), {"default": policy})


@pytest.mark.parametrize("default", [{}, {"defaultMachine": "n4"}])
def test_a_job_that_kueue_has_counted_gets_no_other_machine_from_its_appdef(default: Object) -> None:
    policy = build_policy(placement=CLASS | default, queue={"kueue": "Require"})
    job = build_taking("n8")
    known = identify(job, {"default": policy})
    assert choose_machine(known, ["n8"]).spec.machine == "n8"
    with pytest.raises(Refused, match=r"these do: 'n8'"):
        choose_machine(known, ["n8"], is_counted=True)
    assert resolve(build_taking("n8", machine="n8"), {"default": policy}).spec.machine == "n8"


def test_in_a_class_without_machines_the_appdefs_have_no_effect_and_it_says_so() -> None:
    said = "`appDef.machines` ('n0', 'n1') has no effect: class 'default' has no machines"
    assert said in resolve(build_taking("n0", "n1"), {"default": build_policy()}).warnings
    assert said not in resolve(build_taking("n0", "*"), {"default": build_policy()}).warnings


def test_the_size_of_a_given_machine_counts() -> None:
    machines = [{"name": "big"}, {"name": "small", "quota": {"requests.storage": "1Gi"}}]
    policy = build_policy(placement={"machines": machines, "defaultMachine": "big"}, storage={"classes": ["fast"]})
    assert resolve(build_taking("big", storage={"size": "2Gi"}), {"default": policy}).spec.machine == "big"
    with pytest.raises(Refused, match="at most 1Gi is allowed"):
        resolve(build_taking("small", storage={"size": "2Gi"}), {"default": policy})


def test_wishes_within_the_class_are_added_to_it() -> None:
    wishes = {
        "nodeSelector": {"zone": "1", "site": "a"},
        "tolerations": ["gpu:NoSchedule"],
        "schedulerName": "fluence",
        "priorityClassName": "high",
        "overflow": {
            "mode": "Never",
            "gpu": "Host",
            "backends": ["cloud"],
            "completionsTrigger": 0,
            "localParallelism": 1,
            "backendParallelism": 7,
        },
    }
    came = found(placement=wishes)
    assert came is not None
    assert came.node_selector == {"site": "a", "zone": "1"}
    assert came.tolerations == ["site=a", "gpu:NoSchedule"]
    assert (came.scheduler_names.default, came.priority_classes.default) == ("fluence", "high")
    assert came.overflow is not None
    assert replace(came.overflow, backends=[]) == Overflow(
        mode="Never", gpu="Host", completions_trigger=0, local_parallelism=1, backend_parallelism=7
    )
    assert [item.name for item in came.overflow.backends] == ["cloud"]


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"nodeSelector": {"secret": "x"}},
         "`spec.placement.nodeSelector` must not contain 'secret': the class allows 'zone', 'site'"),
        ({"nodeSelector": {"site": "b"}},
         "`spec.placement.nodeSelector` must not have 'b' for 'site': the pods have to run on 'a'"),
        ({"tolerations": ["web"]}, "`spec.placement.tolerations` must not contain 'web': the class allows 'gpu'"),
        ({"tolerations": ["*"]}, "`spec.placement.tolerations` must not contain '*': the class allows 'gpu'"),
        ({"schedulerName": "volcano"}, "`spec.placement.schedulerName` may not be 'volcano': the class allows "
         "'default-scheduler', 'fluence'"),
        ({"priorityClassName": "low"}, "`spec.placement.priorityClassName` may not be 'low': the class allows 'high'"),
        ({"runtimeClassName": "kata"}, "`spec.placement.runtimeClassName` may not be 'kata': the class allows none"),
        ({"overflow": {"backends": ["hpc", "mine"]}},
         "`spec.placement.overflow.backends` must not contain 'mine': the class allows 'hpc', 'cloud'"),
    ],
)  # fmt: skip
def test_a_wish_that_the_class_does_not_allow_is_refused_and_changes_nothing(wishes: Object, message: str) -> None:
    refused = refusal(placement=wishes)
    assert refused.reason == conditions.PLACEMENT_NOT_ALLOWED
    assert refused.message == f"{message} (class 'default')"
    came, plain = found(placement=wishes), found()
    assert came is not None
    assert plain is not None
    # The pods of a job that ran when the class allowed more get what is left of it.
    assert replace(came, overflow=None) == replace(plain, overflow=None)


def test_all_faults_are_told_at_once() -> None:
    text = refusal(
        placement={"schedulerName": "volcano", "overflow": {"backends": ["mine"]}, "nodeSelector": {"secret": "x"}}
    ).message
    assert text.count("the class allows") == 3


@pytest.mark.parametrize(
    ("wishes", "is_refused"),
    [
        ({"mode": "Never"}, False),
        ({"mode": "WhenFull"}, True),
        ({"mode": "Always"}, True),
        ({"gpu": "Backend"}, True),
        ({"gpu": "Any"}, False),
    ],
)
@pytest.mark.parametrize("rules", [None, {}, {"overflow": {"mode": "Never"}}])
def test_a_class_without_backends_sends_nothing_out(rules: Object | None, wishes: Object, is_refused: bool) -> None:
    if is_refused:
        assert "may not ask for a backend: the class allows none" in refusal(rules, placement={"overflow": wishes}).message
    else:
        resolve(build_job(placement={"overflow": wishes}), {"default": build_policy(**({"placement": rules} if rules else {}))})


def narrowed(said: Object, wish: Object) -> tuple[Object, str]:
    """What holds for a job with one wish, and why the job is refused, if it is."""
    rules = {"overflow": {"backends": [{"name": "hpc"}]} | said}
    came = found(rules, placement={"overflow": wish})
    assert came is not None
    assert came.overflow is not None
    held = data.write(came.overflow)
    problems = resolve_placement(build_policy(placement=rules), build_spec(placement={"overflow": wish}))[1]
    return {key: held[key] for key in wish}, "; ".join(problems)


MODES = ("Never", "WhenFull", "Always")


@pytest.mark.parametrize("said", MODES)
@pytest.mark.parametrize("wished", MODES)
def test_a_job_may_keep_more_pods_here_than_its_class_and_never_send_more_out(said: str, wished: str) -> None:
    held, problem = narrowed({"mode": said}, {"mode": wished})
    is_allowed = MODES.index(wished) <= MODES.index(said)
    assert held == {"mode": wished if is_allowed else said}
    assert bool(problem) is not is_allowed
    if problem:
        assert problem.startswith(f"`spec.placement.overflow.mode` may not be '{wished}': the class allows 'Never'")


@pytest.mark.parametrize(
    ("mode", "said", "allowed"),
    [
        ("Never", "Host", ["Host"]),
        ("WhenFull", "Host", ["Host"]),
        ("Always", "Host", ["Host"]),
        ("Never", "Backend", ["Backend"]),
        ("Always", "Backend", ["Backend"]),
        # `Any` is what `mode` says: under `Never`, no pod with a GPU goes out.
        ("Never", "Any", ["Host", "Any"]),
        ("WhenFull", "Any", ["Host", "Backend", "Any"]),
        ("Always", "Any", ["Host", "Backend", "Any"]),
    ],
)
@pytest.mark.parametrize("wished", ["Host", "Backend", "Any"])
def test_what_a_class_says_of_gpus_is_final(mode: str, said: str, allowed: list[str], wished: str) -> None:
    held, problem = narrowed({"mode": mode, "gpu": said}, {"gpu": wished})
    assert held == {"gpu": wished if wished in allowed else said}
    words = ", ".join(f"'{item}'" for item in allowed)
    assert problem == (
        "" if wished in allowed else f"`spec.placement.overflow.gpu` may not be '{wished}': the class allows {words}"
    )


HERE, THERE, MANY = "localParallelism", "backendParallelism", "completionsTrigger"


@pytest.mark.parametrize(
    ("mode", "field", "said", "wished", "allowed"),
    [
        # Limits of a class are ceilings.
        ("Never", HERE, 10, 4, ""),
        ("Never", HERE, 10, 10, ""),
        ("Never", HERE, 10, 11, "11: the class allows at most 10"),
        ("Always", HERE, 10, 0, "0, for no limit: the class allows at most 10"),
        ("Always", HERE, 0, 4, ""),
        ("WhenFull", THERE, 10, 4, ""),
        ("WhenFull", THERE, 10, 11, "11: the class allows at most 10"),
        ("WhenFull", THERE, 0, 0, ""),
        # By a lower limit here, a job would send more pods out.
        ("WhenFull", HERE, 0, 0, ""),
        ("WhenFull", HERE, 0, 1, "1 under `mode: WhenFull`: the class allows only 0"),
        ("WhenFull", HERE, 2, 1, "1 under `mode: WhenFull`: the class allows only 2"),
        ("WhenFull", HERE, 2, 2, ""),
        ("WhenFull", HERE, 2, 3, "3 under `mode: WhenFull`: the class allows only 2"),
        ("WhenFull", HERE, 2, 0, "0 under `mode: WhenFull`: the class allows only 2"),
        # It may not call fewer completions many.
        ("WhenFull", MANY, 6, 6, ""),
        ("WhenFull", MANY, 6, 9, ""),
        ("WhenFull", MANY, 6, 0, ""),
        ("WhenFull", MANY, 6, 3, "3: the class allows 6 or more, and 0"),
        ("WhenFull", MANY, 0, 0, ""),
        ("WhenFull", MANY, 0, 100, "100: the class allows only 0"),
        # All may go out anyway.
        ("Always", MANY, 6, 3, ""),
        ("Always", MANY, 0, 3, ""),
    ],
)
def test_a_job_sends_no_more_pods_out_by_its_numbers(mode: str, field: str, said: int, wished: int, allowed: str) -> None:
    came, problem = narrowed({"mode": mode, field: said}, {field: wished})
    assert came == {field: said if allowed else wished}
    assert problem == (f"`spec.placement.overflow.{field}` may not be {allowed}" if allowed else "")


def test_a_job_of_which_no_pod_goes_out_may_limit_those_that_stay() -> None:
    wish: Object = {"mode": "Never", HERE: 1}
    assert narrowed({"mode": "WhenFull", HERE: 2}, wish) == (wish, "")


def test_the_overflow_of_a_job_has_the_fields_of_a_class() -> None:
    known = set(data.list_names(Overflow))
    assert JobOverflow.model_fields.keys() <= known
    assert known - JobOverflow.model_fields.keys() == {"backend_resources", "pending_seconds"}


def taints_of(node: Object) -> Taints:
    """What the operator knows of the backends `hpc` and, unreadable, `cloud`."""
    hpc = {"metadata": {"name": "hpc"}, "spec": {"type": "Interlink", "node": node}}
    cloud = {"metadata": {"name": "cloud"}, "spec": {"node": {"taints": "many"}}}
    return read_taints([hpc, cloud])


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({}, ["virtual-kubelet.io/provider=hpc:NoSchedule"]),
        ({"taints": [{"key": "a", "value": "b", "effect": "NoExecute"}, {"key": "site"}]}, ["a=b:NoExecute", "site=:NoSchedule"]),
        # How an admin has the host's own nodes preferred.
        ({"taints": [{"key": "later", "effect": "PreferNoSchedule"}]}, []),
    ],
)
def test_pods_tolerate_the_taints_that_a_backend_says_its_nodes_have(node: Object, expected: list[str]) -> None:
    placement = data.read(Placement, {"overflow": CLASS["overflow"]})
    resolved = tolerate_backends(placement, taints_of(node))
    assert resolved is not None
    assert resolved.overflow is not None
    hpc, cloud = resolved.overflow.backends
    assert hpc.tolerations == expected
    assert cloud.tolerations is None  # nothing is known of it: the default


def test_what_the_class_says_of_tolerations_is_said() -> None:
    rules = {"overflow": {"backends": [{"name": "hpc", "tolerations": ["gpu"]}]}}
    placement = data.read(Placement, rules)
    assert tolerate_backends(placement, taints_of({})) == placement
    assert tolerate_backends(None, taints_of({})) is None
    assert tolerate_backends(Placement(), taints_of({})) == Placement()
