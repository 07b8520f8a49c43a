"""`python -m devcluster.release FOLDER [PART…]`: make a release, or parts of it, in a folder outside the checkout."""

import argparse
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from string import Template

import yaml

from devcluster import build
from devcluster.build import sbom
from devcluster.build.cache import REPOSITORY
from devcluster.demo.tools import find_tool
from devcluster.progress import Console
from devcluster.release import editors, single
from nestor import __version__

CHART = REPOSITORY / "charts/nestor"
PLATFORM = "linux-amd64"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _run(*command: str | Path) -> str:
    return subprocess.run([*map(str, command)], cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True).stdout


def write_chart(folder: Path) -> None:
    """The chart; and for those without helm, its definitions and all else that it has by default."""
    helm = find_tool("helm")
    _run(helm, "package", CHART, "--destination", folder)
    (folder / "crds.yaml").write_text("---\n".join(path.read_text() for path in sorted((CHART / "crds").glob("*.yaml"))))
    values = ("--no-hooks", "--namespace", "nestor-system", "--set", "image.repository=ghcr.io/nestor-dev/nestor")
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: nestor-system}\n"
    (folder / "install.yaml").write_text(space + _run(helm, "template", "nestor", CHART, *values))


def write_packages(folder: Path) -> None:
    """Wheel and sdist."""
    _run(sys.executable, "-m", "hatchling", "build", "--directory", folder, "--target", "wheel", "--target", "sdist")


def write_single(folder: Path) -> None:
    """The command line as one file, and as a plugin of kubectl, with its manifest for krew."""
    file = folder / f"nestor-{__version__}-{PLATFORM}.pyz"
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    single.write(file, [*project["dependencies"], *project["optional-dependencies"]["cli"]])
    archive = file.with_name(f"kubectl-{file.stem}.tar.gz")
    _pack({"kubectl-nestor": file, "LICENSE": REPOSITORY / "LICENSE"}, archive)
    urls, digest = project["urls"], _digest(archive)
    known = {"VERSION": __version__, "HOMEPAGE": urls["Homepage"], "URL": f"{urls['Source']}/releases/download/v{__version__}"}
    template = Template((REPOSITORY / "contrib/krew/nestor.yaml").read_text())
    krew = yaml.safe_load(template.safe_substitute(known, SHA256_LINUX_AMD64=digest))
    krew["spec"]["platforms"] = [item for item in krew["spec"]["platforms"] if "$" not in item["sha256"]]
    (folder / "krew-nestor.yaml").write_text(yaml.safe_dump(krew, sort_keys=False))


def write_docs(folder: Path) -> None:
    """The documentation as a site."""
    with tempfile.TemporaryDirectory() as site:
        _run(sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", site)
        _pack({path.name: path for path in Path(site).iterdir()}, folder / f"nestor-docs-{__version__}.tar.gz")


def write_texts(folder: Path) -> None:
    """What the image consists of, and what has changed."""
    (folder / f"nestor-{__version__}.cdx.json").write_text(sbom.build_sbom() + "\n")
    changes = (REPOSITORY / "CHANGELOG.md").read_text().split(f"\n## {__version__} ")[1]
    (folder / "notes.md").write_text(changes.partition("\n")[2].partition("\n## ")[0].strip() + "\n")


def write_image(folder: Path) -> None:
    """Nestor's image for this machine's processor, as an OCI archive."""
    _, archive = build.ensure_image(Console())
    shutil.copy(archive, folder / f"nestor-image-{__version__}-{PLATFORM}.tar")


def _pack(content: dict[str, Path], target: Path) -> None:
    """A tar that is the same for the same content."""
    with gzip.GzipFile(target, "wb", mtime=0) as raw, tarfile.open(fileobj=raw, mode="w") as archive:
        for name, path in sorted(content.items()):
            archive.add(path, name, filter=lambda item: item.replace(mtime=0, uid=0, gid=0, uname="", gname="", deep=False))


MORE = {"docs": write_docs, "texts": write_texts, "image": write_image}
PARTS = {"chart": write_chart, "packages": write_packages, "single": write_single, "schemas": editors.write} | MORE


def main() -> int:
    """Make the parts and their checksums, from a checkout without changes if all of them are wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    given = parser.parse_args()
    if not given.parts and (changes := _run("git", "status", "--porcelain")):
        print(f"error: the checkout has changes:\n{changes}", file=sys.stderr)
        return 1
    os.environ["SOURCE_DATE_EPOCH"] = _run("git", "log", "-1", "--format=%ct").strip()
    given.folder.mkdir(parents=True)
    for name in given.parts or PARTS:
        PARTS[name](given.folder)
    sums = "".join(f"{_digest(path)}  {path.name}\n" for path in sorted(given.folder.iterdir()))
    (given.folder / "SHA256SUMS").write_text(sums)
    print(given.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
