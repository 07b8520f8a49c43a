"""What every new cluster of one version of Kubernetes has, as data that K3s finds at its first start instead of making it.

The syncer writes it, with UIDs and dates of this cluster alone, and K3s's shell takes it if there is no data yet. Without a seed
that fits, or if none comes in time, K3s starts from nothing: that takes a quarter more processor time.
"""

from __future__ import annotations

import re

from nestor.api.contracts import syncer

VOLUME = "seed"
_TAG = re.compile(r":v(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?:[-.+][\w.-]*)?(?:@[\w:]+)?$", re.ASCII)


def find_seed(image: str) -> str:
    """The version whose seed fits a K3s image, by the image's tag: the newest of the same minor version, and no newer than the
    image. Empty if there is none, as for an image that has only a digest.
    """
    tag = _TAG.search(image)
    wanted = tuple(map(int, tag.groups())) if tag else ()
    fitting = [found for version in syncer.SEEDS if (found := _read(version))[:2] == wanted[:2] and found <= wanted]
    return "v{}.{}.{}".format(*max(fitting)) if fitting else ""


def _read(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.removeprefix("v").split(".")))
