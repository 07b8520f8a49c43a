"""`nestor machines`: what the user's jobs can run on."""

from nestor.api.class_choice import find_default, read_effective
from nestor.api.objects import Object
from nestor.clients.cli import console, options, output, session
from nestor.clients.cli.session import Place, Session
from nestor.kube import kinds

HEAD = ("CLASS", "MACHINE", "SIZE", "DESCRIPTION")
ANY = "any"
_FIRST = ("cpu", "memory")


@options.acting
async def machines(place: Place) -> int:
    """List the classes and machines that your jobs can have, with what one job gets in all.

    `nestor run --class CLASS --machine MACHINE` asks for one. Jobs that do not, get the default.
    """
    async with session.opened(place) as opened:
        classes = await opened.api.list(kinds.NESTED_CLASS)
        usable = [item for item in classes if await _may_use(opened, item)]
    if usable:
        output.print_table(HEAD, build_rows(usable, find_default(classes)))
    else:
        console.tell("there is no class that you may use")
    return 0


async def _may_use(opened: Session, item: Object) -> bool:
    """As the chart's admission policy has it."""
    if read_effective(item).get("access") != "Permitted":
        return True
    return await session.may(opened.api, opened.namespace, "use", kinds.NESTED_CLASS.plural, name=item["metadata"]["name"])


def build_rows(classes: list[Object], default: str) -> list[list[str]]:
    """The default class first; of each, the default machine first. Pure."""
    rows = []
    for item in sorted(classes, key=lambda item: (item["metadata"]["name"] != default, item["metadata"]["name"])):
        said, name = read_effective(item), item["metadata"]["name"]
        placement = said.get("placement") or {}
        usual = placement.get("defaultMachine") or ANY
        own = [{"name": ANY}] if usual == ANY else []
        for machine in sorted([*own, *(placement.get("machines") or ())], key=lambda machine: machine["name"] != usual):
            size = {**((said.get("namespace") or {}).get("quota") or {}), **(machine.get("quota") or {})}
            marked = [
                text + " (default)" * is_default
                for text, is_default in ((name, name == default), (machine["name"], machine["name"] == usual))
            ]
            rows.append([*marked, describe_size(size), machine.get("description", "")])
    return rows


def describe_size(quota: Object) -> str:
    """As `cpu=4,memory=16Gi,pods=100`. Pure."""
    amounts = {
        key.removeprefix("requests."): amount for key, amount in quota.items() if not key.startswith(("limits.", "count/"))
    }
    keys = sorted(amounts, key=lambda key: (key not in _FIRST, key))
    return ",".join(f"{key}={amounts[key]}" for key in keys)
