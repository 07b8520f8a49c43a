"""An admission policy of somebody's, played by a ValidatingAdmissionPolicy: it refuses one object."""

from nestor.api.objects import Object
from nestor.kube import Api, Forbidden, Kind
from tests.waiting import eventually

_GROUP = "admissionregistration.k8s.io"
POLICY = Kind(_GROUP, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False)
BINDING = Kind(_GROUP, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", namespaced=False)


async def refuse(api: Api, policy: str, kind: Kind, body: Object, message: str) -> None:
    """Have objects with the name of `body` refused in all namespaces, with these words. `policy`: the policy's name."""
    rule = {"apiGroups": [kind.group], "apiVersions": [kind.version], "operations": ["CREATE"], "resources": [kind.plural]}
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "its", "expression": f"object.metadata.name == '{body['metadata']['name']}'"}],
        "validations": [{"expression": "false", "message": message, "reason": "Forbidden"}],
    }
    await api.apply(POLICY, {"metadata": {"name": policy}, "spec": spec})
    binding = {"policyName": policy, "validationActions": ["Deny"]}
    await api.apply(BINDING, {"metadata": {"name": policy}, "spec": binding})
    await until_refused(api, kind, body, message)


async def until_refused(api: Api, kind: Kind, body: Object, message: str) -> None:
    """Policies and quotas are in force a moment after they are there: await that this object is refused with these words."""

    async def is_refused() -> bool:
        try:
            await api.try_create(kind, body)
        except Forbidden as error:
            return message in error.message
        return False

    await eventually(is_refused)


async def allow(api: Api, policy: str) -> None:
    """Take it back."""
    await api.delete(BINDING, policy)
    await api.delete(POLICY, policy)
