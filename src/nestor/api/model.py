"""What the models of all our resources share: camelCase in YAML, and parts that several of them have."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from nestor.api.base import ObjectName, list_map, rule, rules


class Model(BaseModel):
    """A part of a resource: snake_case in Python, camelCase in YAML. Unknown fields are ignored."""

    # Deferred: each process validates few of the models that it imports, and building one takes up to 10 ms.
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore", defer_build=True)


def ruled(*items: dict[str, str]) -> ConfigDict:
    """The config of a model that is checked by these CEL rules."""
    return ConfigDict(json_schema_extra=rules(*items))


BY_PROFILE: dict[str, Any] = {"default": None}
"""Of a field of classes whose default is the profile's: an API server that knew one would write it into every class."""


class ConditionStatus(Model):
    """One condition of the object."""

    type: str = Field(description="Type of the condition.", max_length=316)
    status: Literal["True", "False", "Unknown"] = Field(description="`True`, `False` or `Unknown`.")
    reason: str = Field(description="Machine-readable reason, in CamelCase.", min_length=1, max_length=1024)
    message: str = Field("", description="Human-readable explanation.", max_length=32768)
    observed_generation: int | None = Field(None, description="The `metadata.generation` that the condition describes.", ge=0)
    last_transition_time: str = Field(
        description="When `status` last changed (RFC 3339).", json_schema_extra={"format": "date-time"}
    )


Conditions = Annotated[list[ConditionStatus], Field(max_length=32, json_schema_extra=list_map("type"))]


class PlaceCount(Model):
    """Number of pods in one place."""

    name: str = Field(description="`host`: the host cluster's own nodes. Otherwise a backend's name.", max_length=253)
    running: int = Field(0, description="Number of running pods.", ge=0)
    starting: int = Field(0, description="Number of pods that have a node there and are not running yet.", ge=0)
    reason: str | None = Field(
        None, description="Why they are at a backend, or most of them. Absent for the host cluster's own nodes.", max_length=1024
    )


class PodCounts(Model):
    """Number of pods, by state."""

    running: int = Field(0, description="Number of running pods.", ge=0)
    waiting: int = Field(0, description="Number of pods that are not running yet.", ge=0)
    places: Annotated[list[PlaceCount], Field(max_length=64, json_schema_extra=list_map("name"))] = Field(
        default_factory=list, description="Where those with a node are. Absent if the class lets no pod overflow."
    )


_HOST = r"([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?|\[[0-9a-fA-F:.]+\])"
Url = Annotated[
    str,
    Field(
        min_length=8,
        max_length=2048,
        json_schema_extra=rules(
            rule(
                f"self.matches('^https?://{_HOST}(:[0-9]{{1,5}})?(/[^?#@ ]*)?$')".replace("\\", "\\\\"),
                "must be a URL such as 'https://interlink.example.com:3000', without user, password or query",
            ),
            rule(
                r"!self.matches('^https?://(169[.]254[.]|\[[fF][eE][89abAB])')".replace("\\", "\\\\"),
                "must not be a link-local address: those are of the cloud's metadata services",
            ),
        ),
    ),
]


class SecretKey(Model):
    """One key of a Secret in the operator's namespace."""

    name: ObjectName = Field(description="Name of the Secret.")
    key: Annotated[str, StringConstraints(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")] = Field(
        description="Key in the Secret."
    )
