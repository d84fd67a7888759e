"""Transactions on disk as the API keeps them: DIR/<file>.<id> in progress, then below DIR/failed or DIR/outdated."""

from __future__ import annotations

import os
import pathlib
import uuid

from .cfgfile import Config
from .errors import ApiError, mismatch, no_transaction
from .reading import read

LIMIT = 20


class Transactions:
    def __init__(self, directory: str, config_file: str, play: str):
        self.dir = pathlib.Path(directory)
        self.prefix = os.path.basename(config_file) + "."
        self.dir.mkdir(parents=True, exist_ok=True)
        self.open: dict[str, Config] = {}
        for path in sorted(self.dir.iterdir()):
            if path.is_file() and path.name.startswith(self.prefix):
                self.open[path.name[len(self.prefix):]] = read(path.read_text(), play, imply_from=False, posted=True)

    def path(self, tid: str, status: str = "") -> pathlib.Path:
        return self.dir / status / (self.prefix + tid)

    def status(self, tid: str) -> str | None:
        if "/" in tid:
            return None
        if tid in self.open:
            return "in_progress"
        return next((s for s in ("outdated", "failed") if self.path(tid, s).exists()), None)

    def json(self, tid: str) -> dict[str, object]:
        status = self.status(tid)
        if status is None:
            raise no_transaction(tid)
        if status == "in_progress":
            return {"_version": self.open[tid].version, "id": tid, "status": status}
        return {"id": tid, "status": status}

    def list(self, status: str = "") -> list[dict[str, object]]:
        out = []
        for group in ("failed", "in_progress", "outdated"):
            if status in ("", group):
                out += [self.json(tid) for tid in self._ids(group)]
        return out

    def _ids(self, status: str) -> list[str]:
        if status == "in_progress":
            return sorted(self.open)
        folder = self.dir / status
        names = sorted(os.listdir(folder)) if folder.is_dir() else []
        return [name[len(self.prefix):] for name in names if name.startswith(self.prefix)]

    def begin(self, current: Config, version: int) -> str:
        if version != current.version:
            raise mismatch(current.version, version)
        tid = str(uuid.uuid4())
        self.open[tid] = current.copy()
        try:
            self.save(tid)
        except OSError as e:
            # The name of the temporary file, in which the id is followed by digits; the transaction is there all the same.
            raise ApiError(500, f"write {self.dir}/.{self.prefix}{tid}4294967295: {str(e.strerror).lower()}") from e
        return tid

    def save(self, tid: str) -> None:
        write_atomically(self.path(tid), self.open[tid].render())

    def get(self, tid: str) -> Config:
        if tid not in self.open:
            raise ApiError(400, f"transaction does not exist: {tid}")
        return self.open[tid]

    def file(self, tid: str) -> pathlib.Path:
        status = self.status(tid)
        if status is None:
            raise ApiError(400, f"transaction does not exist: transaction file {tid} does not exist")
        return self.path(tid, "" if status == "in_progress" else status)

    def delete(self, tid: str) -> None:
        if self.status(tid) is None:
            raise ApiError(404, f"transaction does not exist: transaction file {tid} does not exist")
        self.file(tid).unlink(missing_ok=True)
        self.open.pop(tid, None)

    def end(self, tid: str, status: str) -> None:
        """Moves one out of progress: to `failed` or `outdated`."""
        self.open.pop(tid, None)
        (self.dir / status).mkdir(exist_ok=True)
        if self.path(tid).exists():
            self.path(tid).rename(self.path(tid, status))

    def outdate(self, version: int) -> None:
        """A commit of this version makes every other one that began there or earlier useless; not one whose file could not be
        written (its begin was refused): that stays in progress until a client deletes it."""
        for tid in [t for t, config in self.open.items() if config.version <= version and self.path(t).exists()]:
            self.end(tid, "outdated")


def write_atomically(path: pathlib.Path, content: str | bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(content if isinstance(content, bytes) else content.encode())
    temporary.replace(path)
