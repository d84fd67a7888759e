"""A small file system of its own below a folder, which can be filled to the last byte."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess

FILL = "filled-by-chaos"


def possible() -> str:
    """"" or why no file system can be mounted here."""
    if os.geteuid() != 0:
        return "needs root (mount a tmpfs)"
    done = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "chaos", "/mnt"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"mount: {done.stderr.strip()}"


class Disk:
    """The mount is seen by this process and those that it starts (see __main__: a mount namespace of the run's own)."""

    def __init__(self, folder: pathlib.Path, megabytes: int):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "chaos", folder], check=True, capture_output=True)

    def fill(self) -> int:
        """Until nothing goes in any more; how many bytes that were."""
        written = 0
        with contextlib.suppress(OSError), open(self.folder / FILL, "wb", buffering=0) as out:
            for size in (1 << 20, 1 << 12, 1):
                with contextlib.suppress(OSError):
                    while True:
                        written += out.write(b"\0" * size)
        return written

    def free(self) -> None:
        (self.folder / FILL).unlink(missing_ok=True)

    def unmount(self) -> None:
        subprocess.run(["umount", "-l", self.folder], check=False, capture_output=True)
