"""The ResourceClaims of pods: those that they name, and those that are made for them from templates."""

from collections.abc import Iterator

from nestor.api import names
from nestor.api.allowances import Devices
from nestor.api.objects import Object, status_of

NO_DEVICES = "the class allows no devices (`devices.classes`)"
_IMPLICIT = "deviceclass.resource.kubernetes.io/"
"""Extended resources by which pods request devices of a class without a claim."""


def find_claims(pod: Object) -> dict[str, str | None]:
    """The ResourceClaims by what the pod calls them. None: it needs none. Those that are still to be made are left out."""
    made = {item["name"]: item.get("resourceClaimName") for item in status_of(pod).get("resourceClaimStatuses") or []}
    found: dict[str, str | None] = {}
    for item in pod["spec"].get("resourceClaims") or []:
        if name := item.get("resourceClaimName"):
            found[item["name"]] = name
        elif item["name"] in made:
            found[item["name"]] = made[item["name"]]
    return found


def find_names(pod: Object) -> list[str]:
    return [name for name in find_claims(pod).values() if name]


def find_unmade(pod: Object) -> str | None:
    """Which claim is still to be made from a template, as words for the pod's owner. The nested cluster makes it."""
    known = find_claims(pod)
    for item in pod["spec"].get("resourceClaims") or []:
        if item["name"] not in known:
            return f"the ResourceClaim for '{item['name']}' from template '{item.get('resourceClaimTemplateName')}'"
    return None


def build_claims(pod: Object) -> list[Object]:
    """The host pod's claims: each by the name that its copy has there, as the host has no templates."""
    namespace = pod["metadata"]["namespace"]
    return [
        {"name": item, "resourceClaimName": names.host_name(name, namespace)} for item, name in find_claims(pod).items() if name
    ]


def trim_container(container: Object, pod: Object) -> Object:
    """A container of the host pod without the claims that the pod turned out not to need."""
    resources = container.get("resources") or {}
    claims, known = resources.get("claims") or [], find_claims(pod)
    kept = [item for item in claims if known.get(item["name"])]
    return container if kept == claims else container | {"resources": resources | {"claims": kept}}


def find_foreign(resources: Object, devices: Devices) -> Iterator[str]:
    """The DeviceClasses that are requested as extended resources although they are not allowed."""
    wanted = {name for side in ("requests", "limits") for name in resources.get(side) or {}}
    for name in sorted(wanted):
        if name.startswith(_IMPLICIT) and name.removeprefix(_IMPLICIT) not in devices.classes:
            yield name.removeprefix(_IMPLICIT)


def list_allowed(devices: Devices) -> str:
    """What the class allows, as the end of a message."""
    listed = ", ".join(f"'{name}'" for name in devices.classes)
    return f"the class allows {listed}" if listed else NO_DEVICES
