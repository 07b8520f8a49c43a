"""Label selectors, as everywhere in Kubernetes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from nestor.api.base import Model


class LabelRequirement(Model):
    """One requirement of a label selector."""

    key: Annotated[str, StringConstraints(min_length=1, max_length=316)] = Field(description="Label key.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(description="How the label's value relates to `values`.")
    values: Annotated[list[str], Field(max_length=64)] | None = Field(None, description="Values for `In` and `NotIn`.")


class LabelSelector(Model):
    """Selects objects by their labels, as everywhere in Kubernetes."""

    match_labels: Annotated[dict[str, str], Field(max_length=64)] | None = Field(
        None, description="Labels that must have these values."
    )
    match_expressions: Annotated[list[LabelRequirement], Field(max_length=64)] | None = Field(
        None, description="Further requirements. All must be met."
    )
