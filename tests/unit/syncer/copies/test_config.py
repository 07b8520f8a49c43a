"""What is there because of pods: the authority's ConfigMap, and service links."""

from typing import Any

import pytest

from nestor.api.contracts.cluster import ROOT_CA
from nestor.kube import RetryLater, kinds
from nestor.pods.translate.env import links_name
from nestor.syncer.copies.rows.config import ConfigMapRow, ServiceLinksRow
from tests.unit.pods.translate.builders import build_service
from tests.unit.syncer.copies.pair import HOST, SPACE, Clusters, running


async def test_the_authority_s_config_map_is_awaited_but_not_for_ever() -> None:
    async with running(Clusters.build(), ConfigMapRow) as made:
        for _ in range(40):
            with pytest.raises(RetryLater):
                await made.engine.ensure((SPACE, ROOT_CA))
        await made.engine.ensure((SPACE, ROOT_CA))
        await made.engine.ensure((SPACE, "other"))
        assert made.clusters.host.asked == []


def links(clusters: Clusters) -> Any:
    return (clusters.host.look(kinds.CONFIG_MAP, links_name(SPACE), HOST) or {}).get("data")


async def test_links_are_kept_while_there_are_pods() -> None:
    clusters = Clusters.build()
    clusters.nested.put(kinds.SERVICE, build_service())
    async with running(clusters, ServiceLinksRow, ConfigMapRow) as made:
        assert links(clusters) is None
        pod = clusters.add_pod()
        await made.engines[0].ensure_needs(pod)
        await made.engines[0].ensure_needs(clusters.add_pod("second", enableServiceLinks=False))
        assert links(clusters)["WEB_SERVICE_HOST"] == "10.43.7.7"
        await made.settle()
        await made.drop_nested(kinds.SERVICE, "web", SPACE)
        assert links(clusters) == {}
        await made.drop_nested(kinds.POD, "web", SPACE)
        assert links(clusters) == {}
        await made.drop_nested(kinds.POD, "second", SPACE)
        assert links(clusters) is None
