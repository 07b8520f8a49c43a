"""The example of an app with an admission webhook: what it makes goes through the webhook, inside the nested cluster alone."""

from pathlib import Path

from nestor.api import conditions
from nestor.kube import Api, Kind
from tests.e2e.conftest import Web, apply, example, nested_kubeconfig, try_kubectl
from tests.waiting import job_with

CONFIGURATION = Kind(
    "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", namespaced=False
)
RUDE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: default, labels: {rules: "yes"}}
data: {greeting: a rude one}
"""


async def test_an_app_brings_a_webhook(api: Api, namespace: str, web: Web, tmp_path: Path) -> None:
    await apply(api, example("15-webhook-app", "hooked", namespace))
    job = await job_with(api, "hooked", namespace, conditions.READY, "True")
    page = await web.page(job["status"]["url"])
    assert "Hello from behind an admission webhook" in page
    assert "checked by the webhook" in page

    inside = await nested_kubeconfig(api, job, tmp_path)
    code, output = await try_kubectl(inside, "apply", "-f", "-", stdin=RUDE)
    assert code == 1
    assert 'admission webhook "rules.example.com" denied the request: a greeting must not be rude' in output
    assert "rules" not in {item["metadata"]["name"] for item in await api.list(CONFIGURATION)}
