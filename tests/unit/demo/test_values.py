from pathlib import Path

import pytest

from devcluster.cluster import ClusterInfo
from devcluster.demo import hints, install, values
from devcluster.demo.tools import DemoError


def test_the_embedded_cluster_gets_the_stand_in_and_its_ingress() -> None:
    info = ClusterInfo(Path("/k"), 8080, "nestor.localhost", "nestor-dev")
    built = values.build_values("embedded", info, values.IMAGE, "sha256:1")
    version = values.IMAGE.rpartition(":")[2]
    assert built["image"] == {"repository": "registry.nestor.localhost/nestor-core", "tag": version, "runner": values.IMAGE}
    assert built["defaultClass"]["expose"] == {
        "domain": "nestor.localhost",
        "ingressClassName": "nestor-dev",
        "port": 8080,
        "from": ["10.40.0.0/30"],
    }
    assert built["k3s"]["versions"] == [{"version": "v1.36", "image": values.K3S_STAND_IN}]
    (peer,) = built["metrics"]["from"]
    assert built["metrics"]["enabled"]
    assert peer == {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    assert built["operator"]["podAnnotations"] == {values.DIGEST_ANNOTATION: "sha256:1"}


def test_other_clusters_get_k3s_and_their_own_ingress() -> None:
    info = ClusterInfo(Path("/k"), 80, "apps.example.com", "")
    built = values.build_values("current", info, "registry.example.com:5000/nestor:1.2")
    assert built == {
        "image": {"repository": "registry.example.com:5000/nestor", "tag": "1.2"},
        "defaultClass": {"profile": "Evaluation", "expose": {"domain": "apps.example.com"}},
    }


def test_a_current_cluster_needs_an_image_that_it_can_pull(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NESTOR_IMAGE", "registry.example.com:5000/nestor")
    with pytest.raises(DemoError, match="NESTOR_IMAGE"):
        install.find_image("current")
    monkeypatch.setenv("NESTOR_IMAGE", "registry.example.com:5000/nestor:1")
    assert install.find_image("current") == "registry.example.com:5000/nestor:1"
    assert install.find_image("embedded") == values.IMAGE


def test_hints_name_the_jobs_own_things() -> None:
    job = {
        "metadata": {"name": "hello", "namespace": "team-a"},
        "status": {"namespace": "nestor-team-a-hello-1", "kubeconfigSecretName": "hello-kubeconfig"},
    }
    lines = "\n".join(hints.describe_surroundings(job, Path("/k"), Path("/bin-of-ours")))
    assert "export KUBECONFIG=/k PATH=/bin-of-ours:$PATH" in lines
    assert "-n team-a hello-kubeconfig" in lines
    assert "logs -n nestor-team-a-hello-1 hello-run" in lines
    assert "make demo-down" in lines
    lines = "\n".join(hints.describe_failure_help("hello", "team-a", None, Path("/k")))
    assert "describe naj -n team-a hello" in lines
    assert "hello-run" not in lines
