"""Where something outside the cluster listens, and the Secrets by which it is reached."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from nestor.api.base import ObjectName, rule, rules
from nestor.api.model import Model

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
"""Where a backend listens, or what takes notices."""


class SecretKey(Model):
    """One key of a Secret in the operator's namespace."""

    name: ObjectName = Field(description="Name of the Secret.")
    key: Annotated[str, StringConstraints(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")] = Field(
        description="Key in the Secret."
    )
