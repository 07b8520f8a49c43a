"""What a pod in another cluster cannot have: each such field is named before anything is sent. Pure."""

from collections.abc import Iterator

from nestor.api.objects import Object
from nestor.api.policy import Policy
from nestor.pods.translate import containers, refusals
from nestor.pods.translate.container_status import list_containers
from nestor.pods.translate.fields.volumes import BY_STORAGE

POLICY = Policy(always_pull_images=False)
"""Pod Security `Baseline`, whatever the namespace there enforces: no host pod may take over a node of another cluster."""

CARRIED = (
    "activeDeadlineSeconds", "hostAliases", "hostUsers", "hostnameOverride", "os", "resources", "restartPolicy",
    "runtimeClassName", "securityContext", "shareProcessNamespace", "terminationGracePeriodSeconds",
)  # fmt: skip
"""Fields that the pod has there as it has them here."""
_CHANGED = frozenset(
    {"containers", "dnsConfig", "dnsPolicy", "ephemeralContainers", "hostname", "imagePullSecrets", "initContainers", "volumes"}
)
_OF_HOST = frozenset({
    "affinity", "automountServiceAccountToken", "enableServiceLinks", "nodeName", "nodeSelector", "overhead",
    "preemptionPolicy", "priority", "priorityClassName", "readinessGates", "schedulerName", "schedulingGates",
    "schedulingGroup", "serviceAccount", "serviceAccountName", "setHostnameAsFQDN", "subdomain", "tolerations",
    "topologySpreadConstraints", "workloadRef",
})  # fmt: skip
"""Fields that have done their work in the host cluster when the pod is bound, or that only mean something there."""
_CHECKED = frozenset({"hostIPC", "hostNetwork", "hostPID", "resourceClaims"})
_KNOWN = frozenset(CARRIED) | _CHANGED | _OF_HOST | _CHECKED
_KNOWN_OF_CONTAINER = frozenset(containers.FIELDS) | {"env", "envFrom"}


def find_refusals(pod: Object) -> list[str]:
    """One message per field that the pod cannot have there; empty for most pods."""
    spec = pod["spec"]
    # Which runtime classes there are is the other cluster's affair: it refuses unknown ones by name.
    checked = {key: value for key, value in spec.items() if key not in {*_OF_HOST, "runtimeClassName"}}
    if "volumes" in checked:
        checked["volumes"] = [{"name": item["name"]} if item.keys() & set(BY_STORAGE) else item for item in checked["volumes"]]
    return [*_find_claims(spec), *refusals.find_refusals(pod | {"spec": checked}, POLICY), *_find_unknown(spec)]


def _find_claims(spec: Object) -> Iterator[str]:
    for index, volume in enumerate(spec.get("volumes") or []):
        for kind in volume.keys() & set(BY_STORAGE):
            yield f"`spec.volumes[{index}].{kind}` may not be set: persistent volumes are not available in another cluster"


def _find_unknown(spec: Object) -> Iterator[str]:
    for field in sorted(key for key in spec.keys() - _KNOWN if spec[key]):
        yield f"`spec.{field}` may not be set: it is not known how to carry it to another cluster"
    for path, container in list_containers(spec):
        for field in sorted(key for key in container.keys() - _KNOWN_OF_CONTAINER if container[key]):
            yield f"`{path}.{field}` may not be set: it is not known how to carry it to another cluster"
