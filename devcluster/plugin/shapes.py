"""What requests must look like, as far as the backend reads them. Anything else in them is let through.

Names become names of files here, so they may hold nothing but what Kubernetes allows.
"""

from collections.abc import Mapping
from types import GenericAlias, MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

Shape = type[BaseModel]
NONE: Mapping[str, Any] = MappingProxyType({})

UID = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")]
LABEL = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
KEY = Annotated[str, Field(pattern=r"^[-._a-zA-Z0-9]{1,253}$")]
IMAGE = Annotated[str, Field(pattern=r"^[a-zA-Z0-9][-a-zA-Z0-9._:/@]{0,500}$")]
VARIABLE = Annotated[str, Field(pattern=r"^[^=\x00]+$")]
WORD = Annotated[str, Field(pattern=r"^[^\x00]*$")]
PATH = Annotated[str, Field(pattern=r"^[^\x00]+$", max_length=4096)]
MODE = Annotated[int, Field(ge=0, le=0o777)]
USER = Annotated[int, Field(ge=0, lt=2**31)]
SECONDS = Annotated[float, Field(ge=0, le=10**9)]
POLICY = Literal["Always", "OnFailure", "Never"]
QUANTITIES = dict[str, str | int | float]
TEXTS = dict[KEY, str]


def _list(item: Any) -> Any:
    return GenericAlias(list, (item,))


def _shape(name: str, required: Mapping[str, Any] = NONE, optional: Mapping[str, Any] = NONE) -> Shape:
    """A JSON object with these fields; optional ones may be null."""
    fields: dict[str, Any] = {key: (kind, ...) for key, kind in required.items()}
    fields |= {key: (kind | None, None) for key, kind in optional.items()}
    return create_model(name, __config__=ConfigDict(strict=True, extra="ignore"), **fields)


_SECURITY = _shape("SecurityContext", {}, {"runAsUser": USER, "runAsGroup": USER})
_CONTAINER = _shape(
    "Container",
    {"name": LABEL, "image": IMAGE},
    {
        "command": _list(WORD),
        "args": _list(WORD),
        "env": _list(_shape("Env", {"name": VARIABLE}, {"value": WORD})),
        "workingDir": WORD,
        "terminationMessagePath": WORD,
        "resources": _shape("Resources", {}, {"limits": QUANTITIES, "requests": QUANTITIES}),
        "securityContext": _SECURITY,
        "volumeMounts": _list(_shape("VolumeMount", {"name": LABEL, "mountPath": PATH}, {"subPath": WORD})),
    },
)
_ITEM = _shape("Item", {"key": str, "path": PATH}, {"mode": MODE})
_SOURCE = _shape("Source", {}, {"name": str, "secretName": str, "items": _list(_ITEM), "defaultMode": MODE})
_VOLUME = _shape(
    "Volume", {"name": LABEL}, {"configMap": _SOURCE, "secret": _SOURCE, "projected": _SOURCE, "emptyDir": dict[str, Any]}
)
_KNOWN_SPEC = _shape(
    "KnownSpec", {}, {"terminationGracePeriodSeconds": SECONDS, "containers": _list(_shape("KnownContainer", {"name": LABEL}))}
)
_POD_SPEC = _shape(
    "PodSpec",
    {},
    {
        "containers": _list(_CONTAINER),
        "initContainers": _list(_CONTAINER),
        "volumes": _list(_VOLUME),
        "restartPolicy": POLICY,
        "hostname": LABEL,
        "securityContext": _SECURITY,
        "terminationGracePeriodSeconds": SECONDS,
    },
)
_META = _shape("Metadata", {"uid": UID}, {"name": KEY, "namespace": KEY, "deletionGracePeriodSeconds": SECONDS})
_POD = _shape("Pod", {"metadata": _META, "spec": _POD_SPEC})
_FILES = _list(
    _shape("Files", {"metadata": _shape("Named", {"name": KEY})}, {"data": TEXTS, "binaryData": TEXTS, "stringData": TEXTS})
)
_GROUP = _shape("Group", {}, {"configMaps": _FILES, "secrets": _FILES, "projectedvolumemaps": _FILES})

KNOWN_POD = _shape("KnownPod", {"metadata": _META}, {"spec": _KNOWN_SPEC})
"""A pod that is asked about or deleted: who it is, and how long its end may take."""
SERVER_CREATE = _shape(
    "ServerCreate", {"pod": _POD}, {"configmaps": _FILES, "secrets": _FILES, "projectedvolumesmaps": _FILES, "jobscriptURL": str}
)
"""`/create` at hop 1."""
PLUGIN_CREATE = _shape("PluginCreate", {"pod": _POD}, {"container": _list(_GROUP)})
"""`/create` at hop 2."""
LOG = _shape("Log", {"PodUID": str, "ContainerName": str}, {"Opts": dict[str, Any]})
"""`/getLogs`."""
