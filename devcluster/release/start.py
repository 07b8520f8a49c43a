"""What `python3.11 nestor.pyz` runs. Older Pythons read it, too, as far as the message for them."""

import contextlib
import os
import runpy
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def unpack(folder: str) -> None:
    """Have the libraries there. Two first starts at once do no harm."""
    parent = os.path.dirname(folder)
    os.makedirs(parent, mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent) as temporary, zipfile.ZipFile(HERE) as content:
        content.extractall(temporary, [name for name in content.namelist() if name.startswith("site/")])
        with contextlib.suppress(OSError):  # unless another first start was quicker
            os.rename(os.path.join(temporary, "site"), folder)


def main() -> None:
    """Run the command line, whose libraries have machine code for one version of Python."""
    if sys.version_info[:2] != (3, 11) or not sys.platform.startswith("linux"):
        found = f"Python {sys.version_info[0]}.{sys.version_info[1]} on {sys.platform}"
        sys.exit(f"nestor: this file needs Python 3.11 on Linux, and this is {found}. Try: python3.11 {sys.argv[0]}")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(cache, "nestor", "cli-unbuilt")  # the builder writes the key of the file's content here
    if not os.path.isdir(folder):
        unpack(folder)
    sys.path.insert(0, folder)
    runpy.run_module("nestor", run_name="__main__")


if __name__ == "__main__":
    main()
