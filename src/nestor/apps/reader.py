"""`nestor reader`: prints the AppDef of the mounted app image, which is never run, as one line of JSON, for the operator to read.

A fault is one sentence on standard output, which Kubernetes copies into the pod's status, and an exit code that tells its kind.
"""

import argparse
import errno
import json
import os
import stat
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

from nestor.api import faults
from nestor.api.contracts.reader import IMAGE_FOLDER, OUTPUT_LIMIT, Exit

PATH = "etc/NAE/AppDef.json"
FILE_LIMIT = 4 * 2**20
"""Bytes of the file, including its icon. Parsed, it takes about 40 times as much memory, which the pod's limit allows."""
LINK_LIMIT = 40
"""The kernel's own limit."""


class Fault(Exception):
    """The image does not hold a usable AppDef."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def main(arguments: list[str]) -> int:
    """Print the AppDef and return 0, or print what is wrong and return another code."""
    parser = argparse.ArgumentParser(prog="nestor reader", description="Print the AppDef of a mounted app image.")
    parser.add_argument("--image", type=Path, default=Path(IMAGE_FOLDER), help="where the image is mounted")
    options = parser.parse_args(arguments)
    code: int = Exit.READ
    try:
        said = read_appdef(options.image)
    except Fault as fault:
        said, code = fault.message.encode(), fault.code
    except Exception:
        said, code = f"the reader itself failed:\n{traceback.format_exc()}".encode(), Exit.CRASHED
    sys.stdout.buffer.write(said + b"\n")
    sys.stdout.buffer.flush()
    return code


def read_appdef(image: Path) -> bytes:
    """The AppDef as one line. Raises `Fault`."""
    if not image.is_dir():
        raise Fault(Exit.NO_VOLUME, f"{image} is not mounted: the host cluster has no image volumes")
    content = _parse(_read(image))
    _drop_icon(content)
    # The operator's own rules: what it would refuse is reported here already.
    if fault := faults.find_fault(content, "AppDef"):
        raise Fault(Exit.INVALID, f"/{PATH} of the image: {fault}")
    line = json.dumps(content, allow_nan=False, ensure_ascii=False).encode()
    if len(line) > OUTPUT_LIMIT:
        said = f"/{PATH} of the image has {len(line)} bytes without its icon; at most {OUTPUT_LIMIT} are allowed"
        raise Fault(Exit.TOO_BIG, said)
    return line


def _read(image: Path) -> bytes:
    try:
        # Non-blocking: opening a pipe would wait for a writer.
        descriptor = os.open(follow(image, PATH), os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Fault(Exit.UNREADABLE, f"/{PATH} of the image is not a regular file")
            content = file.read(FILE_LIMIT + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise Fault(Exit.MISSING, f"the image has no file /{PATH}") from error
    except PermissionError as error:
        said = f"/{PATH} of the image cannot be read by the reader's user {os.geteuid()}"
        remedy = f"make it world-readable with `RUN chmod a+rX /etc/NAE /{PATH}` in the image's Dockerfile"
        raise Fault(Exit.UNREADABLE, f"{said}: {remedy}") from error
    except OSError as error:
        raise Fault(Exit.UNREADABLE, f"/{PATH} of the image cannot be read: {error.strerror}") from error
    if len(content) > FILE_LIMIT:
        raise Fault(Exit.TOO_BIG, f"/{PATH} of the image is larger than {FILE_LIMIT} bytes")
    return content


def _parse(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        said = f"/{PATH} of the image is not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        raise Fault(Exit.INVALID, said) from error
    except UnicodeDecodeError as error:
        raise Fault(Exit.INVALID, f"/{PATH} of the image is not JSON: byte {error.start} is not UTF-8") from error
    except RecursionError as error:
        raise Fault(Exit.INVALID, f"/{PATH} of the image is nested deeper than {faults.DEPTH_LIMIT} levels") from error
    except ValueError as error:
        raise Fault(Exit.INVALID, f"/{PATH} of the image is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise Fault(Exit.INVALID, f"/{PATH} of the image must be a JSON object with `commands`")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"it contains {name}, which is not valid JSON")


def _drop_icon(content: dict[str, Any]) -> None:
    """The icon is the largest part of many AppDefs, and nothing displays it."""
    icon = content.get("image")
    if isinstance(icon, dict) and icon.get("data"):
        content["image"] = icon | {"data": ""}


def follow(root: Path, path: str) -> Path:
    """Where `path` of the image is. Raises `OSError` for a loop of links, or where a folder on the way cannot be searched."""
    steps, found, links = _split(path), root, 0
    while steps:
        step = steps.pop(0)
        if step == "..":
            found = found if found == root else found.parent
            continue
        found = found / step
        if not found.is_symlink():
            continue
        links += 1
        if links > LINK_LIMIT:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        target = os.readlink(found)
        found = root if target.startswith("/") else found.parent
        steps = _split(target) + steps
    return found


def _split(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]
