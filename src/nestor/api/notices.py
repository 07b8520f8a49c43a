"""Notices: what Nestor tells a server of an admin's when a job becomes ready or ends, as CloudEvents."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints

from nestor.api.base import ObjectName, list_map, rule, rules
from nestor.api.endpoints import SecretKey, Url
from nestor.api.model import Model

NoticeType = Literal["Ready", "Succeeded", "Failed"]
NOTICE_TYPES: tuple[NoticeType, ...] = ("Ready", "Succeeded", "Failed")
SINK_LIMIT = 8
SUMMARY_LIMIT = 1000
"""Characters of a condition's message that are kept for a notice."""


class Sink(Model):
    """A server that takes notices. Only admins name it: the operator would connect for users to whatever it can reach."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "self.url.startsWith('https://') || !(has(self.tokenRef) || has(self.caRef))",
                "`url` must be an https URL if there is `tokenRef` or `caRef`",
            )
        )
    )

    name: ObjectName = Field(description="Name, as in a job's `notices.sinks`.")
    url: Url = Field(
        description="URL that notices are sent to by POST. Redirects are not followed, and link-local and loopback addresses are "
        "never connected to. Users do not see it."
    )
    mode: Literal["Structured", "Binary"] = Field(
        "Structured",
        description="HTTP content mode of CloudEvents. `Structured`: the whole event is the body. `Binary`: its attributes are "
        "headers (`ce-…`), and its data is the body. Defaults to `Structured`.",
    )
    types: Annotated[list[NoticeType], Field(min_length=1, max_length=3)] = Field(
        default_factory=lambda: list(NOTICE_TYPES),
        description="Which notices are sent: `Ready` (the job has become ready), `Succeeded`, `Failed`. Defaults to all of them.",
    )
    jobs: Literal["All", "Named"] = Field(
        "All",
        description="Which jobs of the class it is notified about. `All`; or `Named`: those that name the sink in "
        "`notices.sinks`. Defaults to `All`.",
    )
    token_ref: SecretKey | None = Field(
        None, description="Bearer token, in a Secret of the operator's namespace, read for each notice. If not set, none is sent."
    )
    ca_ref: SecretKey | None = Field(
        None,
        description="Certificate authorities that sign the server's certificate, as PEM, in a Secret of the operator's "
        "namespace. Defaults to the system's.",
    )
    timeout_seconds: int = Field(10, description="Seconds within which the server must answer. Defaults to 10.", ge=1, le=60)
    give_up_after_seconds: int = Field(
        3600,
        description="How long a notice is tried again, with growing pauses of up to five minutes. Defaults to 3600.",
        ge=0,
        le=604_800,
    )


class NoticesPolicy(Model):
    """Who is told when jobs become ready or end."""

    source: Annotated[str, StringConstraints(max_length=1024, pattern=r"^[^\s\"<>\\^`{|}]*$")] = Field(
        "",
        description="What the `source` of the events begins with, for sinks that several clusters have in common; for example "
        "`https://cluster-a.example.com`. Defaults to nothing: sources are then paths, `/apis/nestor.dev/…`.",
    )
    sinks: Annotated[list[Sink], Field(max_length=SINK_LIMIT, json_schema_extra=list_map("name"))] = Field(
        default_factory=list, description="The servers. If not set, nobody is notified."
    )


class JobNotices(Model):
    """Who is told when the job becomes ready or ends, besides those whom the class always tells."""

    sinks: Annotated[list[ObjectName], Field(max_length=SINK_LIMIT)] = Field(
        default_factory=list, description="Sinks of the class's `notices.sinks`, by name."
    )


class NoticeStatus(Model):
    """The last notice of one type to one sink."""

    sink: str = Field(description="Name of the sink.", max_length=253)
    type: NoticeType = Field(description="`Ready`, `Succeeded` or `Failed`.")
    id: str = Field(description="The event's `id`. It stays the same however often the event is sent.", max_length=253)
    time: str = Field(description="When the job became so (RFC 3339).", max_length=64)
    reason: str = Field("", description="Reason of the job's condition.", max_length=1024)
    summary: str = Field("", description="Message of the job's condition.", max_length=SUMMARY_LIMIT)
    state: Literal["Pending", "Delivered", "Undelivered"] = Field(
        "Pending",
        description="`Pending`: it is being sent, or will be sent again. `Delivered`: the sink has accepted it. `Undelivered`: "
        "the sink refused it, or could not be reached until its `giveUpAfterSeconds` were over.",
    )
    problem: str = Field("", description="Why it could not be delivered so far.", max_length=1024)
