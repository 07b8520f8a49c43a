"""buildah with a storage of its own: builds Dockerfiles without a daemon, and keeps every layer for the next build."""

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from devcluster.build import commands, oci
from devcluster.build.cache import Cache
from devcluster.build.oci import Image


class Buildah:
    """The commands that the build needs."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        # In a mount namespace of its own: buildah leaves the mounts of a build's stages behind, one more with every build.
        self._command = [
            "unshare",
            "--mount",
            "buildah",
            f"--root={cache.buildah / 'root'}",
            f"--runroot={cache.buildah / 'run'}",
        ]

    def has(self, image: str) -> bool:
        """Whether the storage holds an image of that name."""
        command = [*self._command, "inspect", "--type=image", image]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def load(self, image: Image, temporary: Path) -> None:
        """Put an assembled image into the storage, under its own name."""
        archive = temporary / "image.tar"
        oci.write(image, archive)
        self._run("pull", "pull", f"oci-archive:{archive}")
        digest = commands.capture([*self._command, "images", "--format={{.ID}}", "--filter=dangling=true"]) or image.reference
        if not self.has(image.reference):
            self._run("tag", "tag", digest.splitlines()[0], image.reference)

    def build(
        self,
        context: Path,
        name: str,
        *,
        arguments: Mapping[str, str] | None = None,
        volumes: Sequence[str] = (),
        target: str = "",
    ) -> None:
        """Build the context's Dockerfile, or one of its stages. `chroot` isolation needs neither a runtime nor cgroups."""
        given = [f"--build-arg={key}={value}" for key, value in (arguments or {}).items()]
        mounted = [f"--volume={volume}" for volume in volumes]
        options = ["--isolation=chroot", "--layers", "--format=oci", "--pull=false", *given, *mounted, f"--tag={name}"]
        if target:
            options.append(f"--target={target}")
        self._run(f"build-{context.name}", "build", *options, str(context))

    def save(self, name: str, reference: str, archive: Path) -> None:
        """Write an image as an OCI archive.

        By way of a plain folder: buildah's own archives are always compressed, which takes longer than building does.
        """
        self._cache.images.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".export-", dir=self._cache.images) as folder:
            self._run("push", "push", "--quiet", "--disable-compression", "--format=oci", name, f"dir:{folder}")
            oci.pack(Path(folder), reference, archive)

    def _run(self, log: str, *arguments: str) -> None:
        commands.run([*self._command, *arguments], self._cache.log / f"buildah-{log}.log")
