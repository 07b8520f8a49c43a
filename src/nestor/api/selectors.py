"""Label selectors, as everywhere in Kubernetes."""

from __future__ import annotations

from typing import Annotated, Literal

from nestor.api.parts import Limits, field, part


@part()
class LabelRequirement:
    """One requirement of a label selector."""

    key: Annotated[str, Limits(min_length=1, max_length=316)] = field(description="Label key.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = field(description="How the label's value relates to `values`.")
    values: Annotated[list[str], Limits(max_length=64)] | None = field(default=None, description="Values for `In` and `NotIn`.")


@part()
class LabelSelector:
    """Selects objects by their labels, as everywhere in Kubernetes."""

    match_labels: Annotated[dict[str, str], Limits(max_length=64)] | None = field(
        default=None, description="Labels that must have these values."
    )
    match_expressions: Annotated[list[LabelRequirement], Limits(max_length=64)] | None = field(
        default=None, description="Further requirements. All must be met."
    )
