"""A real browser, Debian's Chromium, for tests of web pages; and axe-core, which finds what keeps people from using a page."""

import contextlib
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import BrowserContext, Page, ViewportSize, async_playwright, expect

from devcluster import progress
from devcluster.build import cache, debian

SIZE = ViewportSize(width=1200, height=850)
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
LIMIT_MILLISECONDS = 30_000
expect.set_options(timeout=LIMIT_MILLISECONDS)


@contextlib.asynccontextmanager
async def browsing(scheme: Literal["light", "dark"] = "light", *, with_scripts: bool = True) -> AsyncIterator[BrowserContext]:
    """A browser without any history, for the length of a `with` block. Its pages' errors fail the test."""
    at = cache.default()
    with at.lock("browser"):
        debian.ensure_browser(at, progress.Silent())
    errors: list[str] = []
    async with async_playwright() as playwright:
        # Tests run as root, for whom Chromium has no sandbox of its own.
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        try:
            context = await browser.new_context(color_scheme=scheme, viewport=SIZE, java_script_enabled=with_scripts)
            context.set_default_timeout(LIMIT_MILLISECONDS)
            context.on("weberror", lambda error: errors.append(str(error.error)))
            yield context
        finally:
            await browser.close()
    assert not errors


async def find_barriers(page: Page) -> list[str]:
    """What axe-core has against a page, each with the elements that it means."""
    found = await Axe().run(page, options={"runOnly": list(RULES)})
    return [
        f"{item['id']}: {item['help']}: " + "; ".join(node["html"] for node in item["nodes"][:3])
        for item in found.response["violations"]
    ]


async def take(page: Page, name: str) -> None:
    """A picture for the documentation, if somebody asked for them: `NESTOR_PICTURES=docs/pictures`."""
    if folder := os.environ.get("NESTOR_PICTURES"):
        await page.evaluate("scrollTo(0, 0)")
        await page.screenshot(path=Path(folder) / f"ui-{name}.png", full_page=True, animations="disabled", caret="hide")
