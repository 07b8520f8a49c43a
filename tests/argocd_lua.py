"""Runs the Lua of `charts/nestor/argocd` as Argo CD does: Lua 5.1 with tables and two functions of `os`, without strings."""

from pathlib import Path
from typing import Any

import yaml
from lupa import lua51

from nestor.api.objects import Object

FILE = Path(__file__).parents[1] / "charts" / "nestor" / "argocd" / "customizations.yaml"
_SANDBOX = """
local date, time = os.date, os.time
getmetatable("").__index = nil
package.loaded.os = {date = date, time = time}
for _, name in ipairs({"os", "io", "string", "math", "debug", "coroutine", "python"}) do _G[name] = nil end
"""


def read_customizations() -> dict[str, str]:
    """The entries of Argo CD's ConfigMap."""
    data: dict[str, str] = yaml.safe_load(FILE.read_text())["data"]
    return data


def health(obj: Object) -> tuple[str, str]:
    """Status and message that the health check of the object's kind gives."""
    found = _run(read_customizations()[f"resource.customizations.health.nestor.dev_{obj['kind']}"], obj)
    return found["status"], found["message"]


def list_actions(obj: Object) -> dict[str, bool]:
    """The actions that are offered for an object, and whether each can be chosen now."""
    found = _run(_read_actions(obj)["discovery.lua"], obj)
    return {name: not action["disabled"] for name, action in found.items()}


def run_action(obj: Object, name: str) -> Object:
    """The object after an action."""
    [script] = [item["action.lua"] for item in _read_actions(obj)["definitions"] if item["name"] == name]
    found: Object = _run(script, obj)
    return found


def _read_actions(obj: Object) -> Object:
    found: Object = yaml.safe_load(read_customizations()[f"resource.customizations.actions.nestor.dev_{obj['kind']}"])
    return found


def _run(script: str, obj: Object) -> Any:
    runtime = lua51.LuaRuntime(register_eval=False, register_builtins=False)
    runtime.execute(_SANDBOX)
    runtime.globals()["obj"] = runtime.table_from(obj, recursive=True)
    return _to_python(runtime.execute(script))


def _to_python(value: Any) -> Any:
    if lua51.lua_type(value) != "table":
        return value
    found = dict(value.items())
    if found and set(found) == set(range(1, len(found) + 1)):
        return [_to_python(found[index]) for index in sorted(found)]
    return {key: _to_python(item) for key, item in found.items()}
