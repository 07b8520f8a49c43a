"""What every new cluster of one version of Kubernetes has, as data that K3s finds at its first start instead of making it.

The syncer writes it, with UIDs and dates of this cluster alone, and K3s's shell takes it if there is no data yet. Without a seed
that fits, or if none comes in time, K3s starts from nothing: that takes a quarter more processor time.
"""

from __future__ import annotations

import re

from nestor.api.contracts import syncer

VOLUME = "seed"
_TAG = re.compile(r":(v[\d.]+)(?:-[\w.-]*)?(?:@[\w:]+)?$", re.ASCII)


def find_seed(image: str) -> str:
    """The version whose seed fits a K3s image, by the image's tag; empty if there is none. A later patch level may make its roles
    narrower, which a server does not do with those that it finds.
    """
    tag = _TAG.search(image)
    return tag[1] if tag and tag[1] in syncer.SEEDS else ""
