"""Notices: what Nestor tells a server of an admin's when a job becomes ready or ends, as CloudEvents."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from nestor.api.base import ObjectName, list_map, rule, rules
from nestor.api.endpoints import Url
from nestor.api.model import Model

NoticeType = Literal["Ready", "Succeeded", "Failed"]
SINK_LIMIT, MESSAGE_LIMIT = 8, 1000
_HAS_TLS = "self.url.startsWith('https://') || !has(self.secretName)"
_NEEDS_TLS = rules(rule(_HAS_TLS, "`url` must be an https URL if there is `secretName`"))


class Sink(Model):
    """A server that takes notices. Only admins name it: the operator would connect for users to whatever it can reach."""

    model_config = ConfigDict(json_schema_extra=_NEEDS_TLS)

    name: ObjectName = Field(description="Name, as in a job's `status.notices`.")
    url: Url = Field(
        description="URL that notices are sent to by POST, without redirects and never to link-local or loopback addresses."
    )
    secret_name: ObjectName | None = Field(
        None,
        description="Secret of the operator's namespace, read for each notice. Its key `token` is sent as `Authorization: "
        "Bearer …`, or unchanged in the header that `header` names; `ca.crt` has the authorities to trust (PEM), if not the "
        "system's. All three are optional.",
    )


Sinks = Annotated[list[Sink], Field(max_length=SINK_LIMIT, json_schema_extra=list_map("name"))]


class NoticeStatus(Model):
    """A notice that is not delivered yet."""

    type: NoticeType = Field(description="`Ready`, `Succeeded` or `Failed`.")
    id: str = Field(description="The event's `id`. It stays the same however often the event is sent.", max_length=253)
    time: str = Field(description="When the job became so (RFC 3339).", max_length=64)
    reason: str = Field("", description="Reason of the job's condition.", max_length=1024)
    message: str = Field("", description="Message of the job's condition.", max_length=MESSAGE_LIMIT)
    sinks: Annotated[list[str], Field(max_length=SINK_LIMIT)] = Field(description="Sinks that have not taken it so far.")
