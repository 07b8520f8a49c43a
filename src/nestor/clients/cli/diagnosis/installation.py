"""Is this installation able to run jobs? Facts → findings, in the order in which one would repair them. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from nestor import __version__
from nestor.api import conditions, labels
from nestor.api.class_choice import find_default, read_effective
from nestor.api.crd import RESOURCES, UPDATE_COMMAND, Resource, compare, describe
from nestor.api.objects import Object, annotations_of, conditions_of, spec_of, status_of
from nestor.clients.cli.diagnosis.facts import Installation
from nestor.clients.cli.view.facts import describe_trouble

Level = Literal["good", "warn", "bad"]
INSTALL = "install Nestor: nestor install"
UPDATE_CRDS = f"apply the new definitions: {UPDATE_COMMAND}"
DEFAULT_INGRESS_CLASS = "ingressclass.kubernetes.io/is-default-class"
OLDEST_VERSION = (1, 33)
MANY_JOBS = 500
"""Of one namespace and class. So many, each with its default quota of Services, fill a range of 16,000 addresses."""


@dataclass(frozen=True)
class Finding:
    """`bad` is what keeps jobs from working, `warn` what may surprise; `advice` says what to do about it."""

    level: Level
    text: str
    advice: str = ""


good, warn, bad = partial(Finding, "good"), partial(Finding, "warn"), partial(Finding, "bad")


def judge(facts: Installation) -> list[Finding]:
    parts = (judge_server, _judge_resources, _judge_operator, _judge_classes, _judge_rights)
    return [finding for part in parts for finding in part(facts)]


def judge_server(facts: Installation) -> Iterator[Finding]:
    numbers = tuple(int(part) for part in facts.version.lstrip("v").split(".")[:2] if part.isdigit())
    if len(numbers) == 2 and numbers < OLDEST_VERSION:
        needed = "Nestor needs 1.33 or later"
        yield bad(f"the cluster at {facts.server} runs Kubernetes {facts.version}; {needed}", "upgrade the cluster")
    else:
        yield good(f"the cluster at {facts.server} answers: Kubernetes {facts.version}")
    if facts.has_image_volumes is False:
        yield bad(
            "the cluster does not support image volumes, which app images need",
            "they are enabled by default from Kubernetes 1.35; before that, enable the feature gate ImageVolume in API server "
            "and kubelets. Jobs with templates from a ConfigMap do not need them",
        )
    elif facts.has_image_volumes:
        yield good("image volumes are supported, so app images can be used")


def _judge_resources(facts: Installation) -> Iterator[Finding]:
    missing = [resource.kind for resource in RESOURCES if resource.plural not in facts.served]
    if missing:
        everything = len(missing) == len(RESOURCES)
        yield bad(
            f"these resources are not installed in the cluster: {', '.join(missing)}", INSTALL if everything else UPDATE_CRDS
        )
    if len(missing) == len(RESOURCES):
        return
    if facts.crds is None:
        if not missing:
            yield good(
                "Nestor's resources are installed (you have no permission to read their definitions, so their version is unknown)"
            )
        return
    known = [(resource, facts.crds[resource.plural]) for resource in RESOURCES if resource.plural in facts.crds]
    findings = [finding for resource, crd in known for finding in _compare(resource, crd)]
    yield from findings
    if not findings and not missing:
        yield good("Nestor's resources are installed and up to date")


def _compare(resource: Resource, crd: Object) -> Iterator[Finding]:
    lacking, extra = compare(resource, crd)
    if lacking:
        yield bad(f"the definition of {resource.kind} is older than this nestor: it lacks {describe(lacking)}", UPDATE_CRDS)
    elif extra:
        yield warn(
            f"the definition of {resource.kind} is newer than this nestor: it has {describe(extra)}",
            "install the version of nestor that the cluster runs",
        )


def _judge_operator(facts: Installation) -> Iterator[Finding]:
    if facts.operators is None:
        yield warn(
            "cannot tell whether the operator is running: you have no permission to list Deployments",
            "ask an admin to run `nestor doctor`",
        )
        return
    if not facts.operators:
        yield bad("no operator is installed (no Deployment with label app.kubernetes.io/name=nestor)", INSTALL)
    if len(facts.operators) > 1:
        places = ", ".join(f"{item['metadata']['namespace']}/{item['metadata']['name']}" for item in facts.operators)
        yield bad(f"several operators are installed and act on the same jobs: {places}", "uninstall all but one")
    for operator in facts.operators:
        yield from _judge_deployment(operator, facts.operator_pods)


def _judge_deployment(operator: Object, pods: list[Object]) -> Iterator[Finding]:
    meta = operator["metadata"]
    where = f"{meta['namespace']}/{meta['name']}"
    logs = f"kubectl logs -n {meta['namespace']} deployment/{meta['name']}"
    if operator["spec"].get("replicas", 1) == 0:
        yield bad(
            f"the operator {where} is scaled to 0", f"kubectl scale -n {meta['namespace']} deployment/{meta['name']} --replicas=1"
        )
        return
    if not status_of(operator).get("readyReplicas"):
        mine = [pod for pod in pods if pod["metadata"]["namespace"] == meta["namespace"]]
        troubles = [trouble for pod in mine if (trouble := describe_trouble(pod))]
        yield bad(f"the operator {where} is not ready: {'; '.join(troubles) or 'it has no running pod'}", logs)
        return
    version = (meta.get("labels") or {}).get("app.kubernetes.io/version")
    if version and version != __version__:
        yield warn(f"the operator is version {version}, this nestor is version {__version__}", "install the same version of both")
    yield good(f"the operator {where} is ready" + (f", version {version}" if version else ""))


def _judge_classes(facts: Installation) -> Iterator[Finding]:
    if facts.classes is None:
        yield warn("cannot check the classes: you have no permission to list NestedClasses")
        return
    if not facts.classes:
        if "nestedclasses" in facts.served:
            yield bad(
                "there is no NestedClass, so every job is refused",
                "set `defaultClass.create: true` in the chart's values, or apply one named 'default'",
            )
        return
    names = [item["metadata"]["name"] for item in facts.classes]
    if find_default(facts.classes) not in names:
        yield warn(
            f"no class is named 'default' or has annotation `{labels.DEFAULT_CLASS}`: jobs must set `className` to one of "
            f"{', '.join(names)}"
        )
    for item in facts.classes:
        yield from list(_judge_class(item, facts)) or [good(_describe_class(item))]


def _describe_class(item: Object) -> str:
    versions = (read_effective(item).get("cluster") or {}).get("versions") or ["what the operator has"]
    domain = (spec_of(item).get("expose") or {}).get("domain")
    return f"class '{item['metadata']['name']}' offers {', '.join(versions)} and exposes jobs below {domain}"


def _judge_class(item: Object, facts: Installation) -> Iterator[Finding]:
    name, expose = item["metadata"]["name"], spec_of(item).get("expose") or {}
    yield from _judge_walls(name, item)
    yield from judge_ingress(name, expose, facts)
    yield from _judge_storage(name, item, facts)
    if not expose.get("domain"):
        who = ": only jobs whose `expose.host` is in `expose.allowedHosts` get a URL"
        if not expose.get("allowedHosts"):
            who = " and no `expose.allowedHosts`: no job gets a URL"
        yield warn(
            f"class '{name}' has no `expose.domain`{who}",
            "set it in the class (for the chart's class: `defaultClass.expose.domain` in its values)",
        )
    if not expose.get("from") and any("auth" in key.partition("/")[2] for key in expose.get("annotations") or ()):
        yield warn(
            f"class '{name}' has annotations for a login, but pods of all namespaces without a job reach targets past it",
            "let `expose.from` in the class name the namespace of the Ingress controller alone",
        )
    if (jobs := read_effective(item).get("maxJobsPerNamespace", 0)) > MANY_JOBS:
        yield warn(
            f"class '{name}' allows each namespace {jobs} jobs: one tenant can use up the host's Service addresses",
            "lower `maxJobsPerNamespace` in the class, and create a separate class for users who need more",
        )
    if facts.tls_secrets.get(name) is False:
        yield bad(
            f"class '{name}' names TLS Secret '{expose.get('tlsSecretName')}', which does not exist",
            "create it in the operator's namespace, of type kubernetes.io/tls",
        )


def _judge_walls(name: str, item: Object) -> Iterator[Finding]:
    """Whether anything keeps jobs apart, as the operator has found out."""
    found = conditions.find(conditions_of(item), conditions.NETWORK_ENFORCED) or {}
    said, reason = found.get("message", ""), conditions.reason_of(found)
    if found.get("status") == "False" and reason != conditions.UNENFORCED_ACCEPTED:
        yield bad(f"class '{name}': {said}", reason.advice)
    elif found.get("status") == "Unknown":
        yield warn(f"class '{name}': {said}", reason.advice)


def judge_ingress(name: str, expose: Object, facts: Installation) -> Iterator[Finding]:
    has_urls = expose.get("domain") or expose.get("allowedHosts")
    if facts.ingress_classes is None or expose.get("gateway") or not has_urls:
        return
    known = [item["metadata"]["name"] for item in facts.ingress_classes]
    wanted = expose.get("ingressClassName")
    if not known:
        yield bad("the cluster has no IngressClass, so no job can be exposed", "install an Ingress controller")
    elif wanted and wanted not in known:
        yield bad(
            f"class '{name}' names IngressClass '{wanted}', which does not exist; available: {', '.join(known)}",
            "change `expose.ingressClassName` in the class (the chart's: `nestor install --ingress-class`)",
        )
    elif not wanted and not any(annotations_of(item).get(DEFAULT_INGRESS_CLASS) == "true" for item in facts.ingress_classes):
        yield bad(
            f"class '{name}' names no IngressClass and the cluster has no default one; available: {', '.join(known)}",
            "set `expose.ingressClassName` in the class (the chart's: `nestor install --ingress-class`)",
        )


def _judge_storage(name: str, item: Object, facts: Installation) -> Iterator[Finding]:
    if facts.storage_classes is None:
        return
    known = {found["metadata"]["name"] for found in facts.storage_classes}
    wanted = (spec_of(item).get("storage") or {}).get("classes") or ()
    if lacking := [f"'{other}'" for other in wanted if other not in known]:
        there = ", ".join(sorted(known)) or "none"
        yield bad(
            f"class '{name}' lists StorageClass {', '.join(lacking)}, which does not exist; available: {there}",
            "change `storage.classes` in the class",
        )


def _judge_rights(facts: Installation) -> Iterator[Finding]:
    if lacking := describe_lacking(facts.rights):
        yield bad(
            f"in namespace '{facts.namespace}' you have no permission to {lacking}",
            "ask an admin for the role 'edit' in that namespace: the chart adds Nestor's resources to it",
        )
    elif facts.rights:
        yield good(f"you can run jobs in namespace '{facts.namespace}'")


def describe_lacking(rights: dict[tuple[str, str, str], bool]) -> str:
    """Those that the user does not have, as `get pods/log, list pods`; empty if there are none."""
    lacking = [right for right, is_allowed in rights.items() if not is_allowed]
    return ", ".join(f"{verb} {resource}" + (f"/{part}" if part else "") for verb, resource, part in lacking)
