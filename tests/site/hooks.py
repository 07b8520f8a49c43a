"""What mkdocs calls while it builds the site (`mkdocs.yml`)."""

from typing import Any

from markdown import Extension, Markdown
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tests.site import links

ICON = links.ROOT / "src/nestor/clients/ui/static/icon.svg"


class _Indents(Extension):  # type: ignore[misc]
    """What belongs to an item of a list is indented by two spaces, as elsewhere; Python's Markdown wants four."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the library's name
        md.tab_length = 2


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Read lists as other programs do."""
    config.markdown_extensions.append(_Indents())
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the icon, and a page for each link that leaves `docs`."""
    files.append(File.generated(config, "assets/icon.svg", content=ICON.read_text()))
    for path, text in links.build_pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Have links that leave `docs` lead there."""
    path = page.file.src_uri
    return markdown if path.startswith(f"{links.HOME}/") else links.rewrite(markdown, f"docs/{path}", path)
