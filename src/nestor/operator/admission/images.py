"""Whether a class allows a job's app image. Pure."""

from __future__ import annotations

from nestor.api import conditions
from nestor.api.images import find_fault
from nestor.operator.admission.app_source import AppSource
from nestor.operator.admission.identity import JobIdentity, Refused


def check_image(known: JobIdentity, source: AppSource) -> None:
    """Raises `Refused` for an app image that the class does not allow."""
    if source.image and (fault := find_fault(source.image, known.policy.images.allowed)):
        raise Refused(conditions.IMAGE_NOT_ALLOWED, source.blame(f"app image {fault} (class '{known.class_name}')"))
