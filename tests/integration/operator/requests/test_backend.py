"""An OverflowBackend: made, working, changed, with a name that is taken, deleted."""

import pytest

from nestor.api import conditions
from nestor.api.objects import status_of
from nestor.kube import Api, kinds
from nestor.operator.backends.process import account_of
from nestor.overflow.vnode.identity import Wish
from tests.integration import apiserver
from tests.integration.operator.requests.conftest import Stage
from tests.integration.operator.test_backends import CPU, GPU, SYSTEM, Backend
from tests.waiting import exists, gone, has, wait_for

pytestmark = pytest.mark.slow

NAME = "requests-backend"


async def test_requests(stage: Stage, second_plane: apiserver.ControlPlane) -> None:
    api = stage.api
    await stage.set_up()
    async with await Api.connect(str(second_plane.kubeconfig_of(account_of(NAME, SYSTEM))), manager="nestor-vnode") as own:
        backend = Backend(api, own, NAME)
        async with stage.step("a backend is created: its process is made"):
            await backend.create()
            await exists(api, kinds.DEPLOYMENT, f"vnode-{NAME}", SYSTEM)
            await backend.wait_for_ready("False", conditions.NOT_DEPLOYED)
        async with stage.step("its process tells two shapes: nodes are made"):
            await backend.start_process()
            await backend.tell(CPU, GPU)
            await backend.wait_for_ready("False", conditions.NODES_NOT_READY)
        async with stage.step("the nodes are ready"):
            await backend.be_ready(f"{NAME}-cpu", f"{NAME}-gpu")
            await backend.wait_for_ready("True", conditions.NODES_READY)
        async with stage.step("a certificate is asked for"):
            await backend.ask(Wish(NAME, f"{NAME}-cpu", "client"))
        async with stage.step("the nodes get a price"):
            changed = await api.patch(kinds.OVERFLOW_BACKEND, NAME, None, {"spec": {"price": 7}})
            for node in (f"{NAME}-cpu", f"{NAME}-gpu"):
                await exists(api, kinds.NODE, node, "", lambda found: found["metadata"]["labels"].get("nestor.dev/price"))
            is_ready = has(conditions.READY, "True", conditions.NODES_READY, generation=changed["metadata"]["generation"])
            await wait_for(api, kinds.OVERFLOW_BACKEND, NAME, "", is_ready)
        async with stage.step("a shape is gone"):
            await backend.tell(CPU)
            await gone(api, kinds.NODE, f"{NAME}-gpu", "")
            await wait_for(api, kinds.OVERFLOW_BACKEND, NAME, "", lambda found: status_of(found).get("readyNodes") == "1/1")
        await api.create(kinds.NODE, {"metadata": {"name": f"{NAME}-gpu"}})
        # In one step, because each pass until the end tries the name.
        async with stage.step("it comes back, but its node's name is taken; then the backend is deleted"):
            await backend.tell(CPU, GPU)
            await backend.wait_for_ready("False", conditions.NODE_CONFLICT)
            await api.delete(kinds.OVERFLOW_BACKEND, NAME)
            await gone(api, kinds.OVERFLOW_BACKEND, NAME, "")
        await api.delete(kinds.NODE, f"{NAME}-gpu")
    stage.check()
