"""What the operator's process must survive."""

from __future__ import annotations

import subprocess
import sys

DEEPEST = 10_000
"""Where Go's JSON decoder, and so every API server, stops."""
PROGRAM = f"""
import copy, json, sys
from nestor.operator.main import RECURSION_LIMIT
sys.setrecursionlimit(RECURSION_LIMIT)
for opening, closing in (('{{"a":', '}}'), ('[', ']')):
    text = opening * {DEEPEST} + '1' + closing * {DEEPEST}
    found = json.loads(text)
    assert json.loads(json.dumps(found)) == found == copy.deepcopy(found)
"""


def test_json_of_any_depth_that_an_api_server_takes_can_be_read_and_written() -> None:
    """In a process of its own: where the stack is too small for the limit, Python does not raise but ends."""
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-500:]
