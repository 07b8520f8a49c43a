"""A whole picture: panels below a title and a remark about where they come from. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tests.charts import axes, panels
from tests.charts.panels import Panel, Span

HEAD, FOOT = 58, 34
STYLE = """
text{font-family:Inter,Roboto,"DejaVu Sans",Arial,sans-serif;fill:#24292e}
.back{fill:#f4f5f7}.panel{fill:#fff;stroke:#dfe2e6}.name{font-size:20px;font-weight:600}.span,.remark{font-size:12px;fill:#5f6670}
.title{font-weight:600}.unit,.scale,.time{font-size:10.5px;fill:#6b727b;font-weight:400}.legend{font-size:11px}
.none{font-size:13px;fill:#8a9099;text-anchor:middle}.scale,.span{text-anchor:end}.time{text-anchor:middle}
.grid{stroke:#e6e8eb;fill:none}.line{fill:none;stroke-width:1.6;stroke-linejoin:round}.area{fill-opacity:.28}
""".replace("\n", "")


def draw(title: str, remark: str, found: Sequence[Panel], span: Span, width: float) -> str:
    """The picture as SVG. The panels' places are counted from below the title."""
    height = HEAD + max(panel.y + panel.height for panel in found) + FOOT
    start, end = axes.format_times([span.start, span.end])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">'
        f"<title>{escape(title)}</title><style>{STYLE}</style>"
        f'<rect class="back" width="{width:g}" height="{height:g}"/>'
        f'<text class="name" x="14" y="36">{escape(title)}</text>'
        f'<text class="span" x="{width - 14:g}" y="36">{start} to {end} UTC</text>'
        f'<g transform="translate(0,{HEAD})">{"".join(panels.draw(panel, span) for panel in found)}</g>'
        f'<text class="remark" x="14" y="{height - 13:g}">{escape(remark)}</text></svg>\n'
    )
