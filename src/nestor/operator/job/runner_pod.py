"""The runner's pod: how to build it, what to do with the existing one, and doing it."""

import base64
import datetime
from collections.abc import Iterator

from nestor.api import conditions, labels, pod_status, times
from nestor.api.contracts import runner as contract
from nestor.api.contracts.cluster import DOMAIN, RUNNER_KUBECONFIG
from nestor.api.contracts.runner import Exit
from nestor.api.names import Part, server_pod
from nestor.api.objects import Object, annotations_of, conditions_of, is_terminating
from nestor.apps.steps import Plan
from nestor.kube import kinds
from nestor.kube.applier import RESYNC_SECONDS
from nestor.operator import oneshot
from nestor.operator.admission.admit import Resolved
from nestor.operator.admission.app_source import list_pull_secrets
from nestor.operator.admission.secret_parameters import build_copy
from nestor.operator.oneshot import NO_IMAGE_VOLUMES, RUNNER_RESOURCES, Action
from nestor.operator.settings import Settings
from nestor.operator.world.context import Context, Result

MAX_ATTEMPTS = 6
RESULT_SECONDS = 30
"""How long a result may take to get from the nested cluster into the NestedCluster's status."""
PAUSES: dict[int, float] = {Exit.NO_API: 10, Exit.NO_VOLUME: 60}
"""Seconds until the next pod. The last one has already waited long for the API; this is for an API that comes and goes."""


def decide_runner(pod: Object | None, server: Object | None, plan_hash: str, *, is_over: bool, now: datetime.datetime) -> Action:
    """`is_over`: the plan's result is recorded. A pod that ended without a result is recreated with growing delays. The first one
    is made once the server has a node: it would wait for it, with what others' servers may wait for.

    Crashes of the runner are limited; waiting for an API is not: if an image can only be pulled an hour later, that is no
    failure, and the templates must still be applied.
    """
    if pod is None:
        is_due = not is_over and conditions.is_true(conditions_of(server), "PodScheduled")
        return Action("Create", attempt=1) if is_due else Action("Keep")
    if is_terminating(pod):
        return Action("Keep") if is_over else Action("Wait", delay=oneshot.ENDING_SECONDS)
    if annotations_of(pod).get(labels.PLAN_HASH) != plan_hash:
        return Action("Replace", attempt=1)
    if is_over or not pod_status.is_terminal(pod):
        return Action("Keep")
    return _decide_ended(pod, oneshot.read_attempt(pod), now)


def _decide_ended(pod: Object, attempt: int, now: datetime.datetime) -> Action:
    code, finished, reason = pod_status.find_end(pod)
    since = times.seconds_since(finished, now) if finished else 0.0
    # The result is on its way; if it never arrives, that counts as a crash.
    is_result, is_waiting = code in (Exit.SUCCEEDED, Exit.STEP_FAILED), code in PAUSES
    delay = RESULT_SECONDS if is_result else PAUSES.get(code or 0, oneshot.find_pause(attempt))
    is_last = attempt >= MAX_ATTEMPTS and not is_waiting
    if finished and since < delay and (is_result or not is_last):
        return Action("Wait", delay=delay - since)
    if is_last:
        why = [f"exit code {code}" if code is not None else "", reason, "its result never arrived" if is_result else ""]
        last = ", ".join(part for part in why if part) or "unknown"
        name = pod["metadata"]["name"]
        return Action("GiveUp", f"the runner's pod '{name}' ended {attempt} times without a result; last: {last}")
    return Action("Replace", attempt=attempt if is_waiting else attempt + 1)


async def ensure_runner(
    context: Context, resolved: Resolved, plan: Plan, dns_address: str, *, is_over: bool, steps_since: float
) -> Result:
    """Ensure the pod; returns what keeps it from running, and when to look again.

    `is_over`: the plan's result is recorded. `steps_since`: for how many seconds the steps have not been applied.
    """
    home = resolved.home
    pod = context.cache.find(kinds.POD, home.child(Part.RUNNER), home.namespace)
    server = context.cache.find(kinds.POD, server_pod(home.name), home.namespace)
    action = decide_runner(pod, server, plan.hash, is_over=is_over, now=times.now())
    if action.kind in ("Create", "Replace"):
        body = build_pod(resolved, context.settings, plan, dns_address, action.attempt)
        # A working pod gets its grace period: there is only one runner at a time.
        former = pod if action.kind == "Replace" else None
        made = await oneshot.make(context.api, body, former, is_patient=True, refused_since=steps_since)
        if made.retry_after is not None:
            return made
    return Result(action.delay, find_dropped(resolved, pod, plan.hash) or action.message or None).within(RESYNC_SECONDS)


def find_dropped(resolved: Resolved, pod: Object | None, plan_hash: str) -> str | None:
    if not resolved.app.image or pod is None:
        return None
    if annotations_of(pod).get(labels.PLAN_HASH) != plan_hash or not oneshot.lacks_image_volume(pod):
        return None
    return f"the runner's pod '{pod['metadata']['name']}' lost its app image volume: {NO_IMAGE_VOLUMES}"


def build_secrets(resolved: Resolved, plan: Plan) -> Iterator[Object]:
    """The plan, which may have passwords among its parameters; and the copy of those that come from a Secret."""
    home = resolved.home
    if plan.steps:
        data = {contract.PLAN_FILE: base64.b64encode(plan.to_json().encode()).decode()}
        yield {"metadata": home.metadata(home.child(Part.PLAN)), "type": "Opaque", "data": data}
    if resolved.secret_parameters is not None:
        yield build_copy(home, resolved.secret_parameters)


def build_pod(resolved: Resolved, settings: Settings, plan: Plan, dns_address: str, attempt: int) -> Object:
    """The pod. It has the nested cluster's keys and no host token; its DNS is the nested one, which forwards other names."""
    home = resolved.home
    annotations = {labels.PLAN_HASH: plan.hash, labels.RUNNER_ATTEMPT: str(attempt)}
    app, folder = _find_templates(resolved)
    secret = {
        "secretName": home.child(Part.ACCESS),
        "defaultMode": 0o440,
        "items": [{"key": RUNNER_KUBECONFIG, "path": contract.KUBECONFIG_FILE}],
    }
    return oneshot.build_pod(
        home.metadata(home.child(Part.RUNNER), component=labels.COMPONENT_RUNNER, annotations=annotations),
        settings.image_with_tools,
        ["runner"],
        RUNNER_RESOURCES,
        grace=5,
        container={
            "volumeMounts": [
                {"name": "app", "mountPath": folder, "readOnly": True},
                {"name": "plan", "mountPath": contract.PLAN_FOLDER, "readOnly": True},
                {"name": "kubeconfig", "mountPath": contract.KUBECONFIG_FOLDER, "readOnly": True},
                {"name": "work", "mountPath": contract.WORK_FOLDER},
                {"name": "tmp", "mountPath": contract.TEMPORARY_FOLDER},
            ]
        },
        dnsPolicy="None",
        dnsConfig={
            "nameservers": [dns_address],
            "searches": [f"default.svc.{DOMAIN}", f"svc.{DOMAIN}", DOMAIN],
            "options": [{"name": "ndots", "value": "5"}],
        },
        volumes=[
            app,
            {"name": "plan", "secret": {"secretName": home.child(Part.PLAN), "defaultMode": 0o440}},
            {"name": "kubeconfig", "secret": secret},
            {"name": "work", "emptyDir": {"sizeLimit": "1Gi"}},
            {"name": "tmp", "emptyDir": {"sizeLimit": "256Mi"}},
        ],
        securityContext=oneshot.build_user(fsGroup=65532),
        **resolved.turn.runner.to_pod(),
        **list_pull_secrets(resolved.app, home, resolved.policy.images, settings.pulls),
    )


def _find_templates(resolved: Resolved) -> tuple[Object, str]:
    """The volume with the templates and its folder: the whole app image, or a copied ConfigMap in its place, or an empty one."""
    if resolved.app.image:
        return oneshot.build_app_volume(resolved.app.image, resolved.policy.images), contract.IMAGE_FOLDER
    if resolved.app.templates_from:
        return {"name": "app", "configMap": {"name": resolved.home.child(Part.TEMPLATES)}}, contract.TEMPLATES_FOLDER
    return {"name": "app", "emptyDir": {}}, contract.TEMPLATES_FOLDER
