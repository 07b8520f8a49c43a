"""Argo CD is built in the version that its manifest is of."""

from __future__ import annotations

import re

from devcluster.build import argocd, components, gobuild
from devcluster.build.components import ARGO_CD, ARGOCD


def test_the_program_says_its_version_as_argo_cds_own_build_does() -> None:
    go_mod = (gobuild.MODULES / ARGOCD.module / "go.mod").read_text()
    assert re.fullmatch(r"v\d+\.\d+\.\d+", argocd.version())
    assert f"-X {ARGO_CD}/common.version={argocd.version()[1:]} " in components.linker_flags(ARGOCD, go_mod)
