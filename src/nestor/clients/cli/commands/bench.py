"""`nestor bench`: how long jobs take in this cluster, beside the same app without Nestor."""

import secrets
from typing import Annotated, Any

import typer

from nestor import __version__
from nestor.clients.cli import console, options, output, session
from nestor.clients.cli.bench import app, figures
from nestor.clients.cli.bench.measure import App, Bench, create
from nestor.clients.cli.exits import Code
from nestor.clients.cli.manifests import Wishes
from nestor.clients.cli.options import Document
from nestor.clients.cli.session import Place
from nestor.kube import kinds


@options.acting
async def bench(
    place: Place,
    count: Annotated[int, typer.Option("--jobs", min=1, help="How many jobs to measure.")] = 30,
    at_once: Annotated[int, typer.Option("--at-once", min=1, help="How many of them to start at the same time.")] = 1,
    floor: Annotated[
        bool, typer.Option("--floor/--no-floor", help="Also run the app without Nestor, in turns with the jobs.")
    ] = True,
    class_name: options.ClassName = None,
    image: Annotated[str, typer.Option("--image", help="The app's image, which must have BusyBox.")] = app.IMAGE,
    form: Annotated[Document | None, options.option("--output", "-o", help="Output format.")] = None,
) -> int:
    """Measure how long jobs take until they answer, and how long their deletion takes.

    A small web server runs as a job, and for comparison (the floor) as a Deployment with a Service and an Ingress in the same
    namespace. The first of each does not count, because it may have to pull images. Everything is deleted at the end, also after
    Ctrl-C.
    """
    name = f"bench-{secrets.token_hex(3)}"
    async with session.opened(place) as opened:
        owner = await create(opened, kinds.CONFIG_MAP, name, app.build_templates(image))
        try:
            measuring = Bench(opened, name, image, Wishes(config_map=name, class_name=class_name), owner)
            console.tell(f"preparing; all objects are named {name}-…", mark="busy")
            await measuring.warm_up(with_floor=floor)
            if not measuring.answers:
                console.tell("the pages do not answer from here: HTTP is not measured", mark="warn")
            found = await measuring.measure(count, at_once, with_floor=floor)
        finally:  # the garbage collector deletes what the ConfigMap owns
            await opened.api.delete(kinds.CONFIG_MAP, name, opened.namespace)
    show({"nestor": __version__, "class": class_name, "image": image, "atOnce": at_once} | build_report(found), form)
    return Code.FAILED if any(one.problem for one in found) else Code.OK


def build_report(apps: list[App]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for place, is_job in (("floor", False), ("jobs", True)):
        mine = [one for one in apps if one.is_job == is_job]
        good = [one.times for one in mine if not one.problem]
        failed = [str(one) for one in mine if one.problem]
        found[place] = {"stages": figures.summarize(good), "failed": failed, "seconds": good}
    return found | {"ratios": figures.compare(found["jobs"]["stages"], found["floor"]["stages"])}


def show(report: dict[str, Any], form: Document | None) -> None:
    if form is not None:
        output.write(output.to_json(report) if form is Document.JSON else output.dump_yaml(report))
        return
    names = [name.upper() for name in figures.PERCENTILES]
    head = ["SECONDS UNTIL", *(f"{place} {name}" for place in ("JOB", "FLOOR", "RATIO") for name in names)]
    parts = [report["jobs"]["stages"], report["floor"]["stages"], report["ratios"]]
    cells = {
        title: [f"{part[stage][name]:.2f}" if stage in part else "" for part in parts for name in figures.PERCENTILES]
        for stage, title in figures.STAGES.items()
    }
    output.print_table(head, [[title, *row] for title, row in cells.items() if any(row)])
