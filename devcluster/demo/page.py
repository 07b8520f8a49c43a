"""The text of a job's page for a terminal."""

import html.parser

_HIDDEN = {"head", "style", "script"}
_BLOCKS = {"p", "h1", "h2", "h3", "li", "div", "br", "tr"}


def to_text(content: str) -> str:
    """What a reader sees of an HTML page: a line per block."""
    parser = _TextParser()
    parser.feed(content)
    parser.close()
    return "\n".join(line for line in (" ".join(block.split()) for block in parser.blocks) if line)


class _TextParser(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = [""]
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        elif tag in _BLOCKS:
            self.blocks.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag in _BLOCKS:
            self.blocks.append("")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.blocks[-1] += data
