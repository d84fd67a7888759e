"""Reloads as the API does them: a fixed ticker carries out whatever was asked for since its last turn, under one id.

After each reload that worked the file is copied aside as the last good one; after one that failed the file becomes that
copy again, while what the API answers stays as it was.
"""

from __future__ import annotations

import datetime
import pathlib
import shutil
import threading
import time
from typing import Any

from .errors import ApiError
from .reloaders import ReloadFailed, Reloader


class Reloads:
    def __init__(self, config_file: str, reloader: Reloader, delay_s: float):
        self.file = pathlib.Path(config_file)
        self.good = self.file.with_name(self.file.name + ".lkg")
        self.reloader = reloader
        self.delay_s = delay_s
        self.lock = threading.RLock()
        self.index = 0
        self.next = ""
        self.current = ""
        self.failed: dict[str, dict[str, Any]] = {}
        self.last_good: dict[str, Any] | None = None
        self.held = threading.Event()
        self.fail_next: list[str] = []
        self.lies = 0
        self.stopping = threading.Event()
        shutil.copyfile(self.file, self.good)
        self.thread = threading.Thread(target=self._tick, daemon=True, name="reload ticker")
        self.thread.start()

    def schedule(self) -> str:
        with self.lock:
            if not self.next:
                self.next = f"{datetime.date.today().isoformat()}-{self.index}"
                self.index += 1
            return self.next

    def force(self) -> None:
        """Reloads now; a scheduled one is thereby done."""
        with self.lock:
            try:
                if self.next:
                    self._carry_out(self.next)
                else:
                    self._reload()
            except ReloadFailed as e:
                raise ApiError(400, f"Reload failed: {e}, {e.output}") from e

    def get(self, rid: str) -> dict[str, Any]:
        with self.lock:
            if rid == self.next or (self.current and rid == self.current):
                return {"status": "in_progress", **({"id": self.current} if self.current else {})}
            if rid in self.failed:
                return self.failed[rid]
            if self.last_good is not None:
                if rid == self.last_good["id"]:
                    return self.last_good
                if _older(rid, self.last_good["id"]):
                    return {"id": rid, "status": "succeeded"}
        raise ApiError(404, f"Reload with ID {rid} does not exist")

    def list(self) -> list[dict[str, Any]]:
        with self.lock:
            out = list(self.failed.values())
            out += [self.last_good] if self.last_good else []
            out += [{"id": rid, "status": "in_progress"} for rid in (self.current, self.next) if rid]
            return out

    def forget(self) -> None:
        """What a restart of the API does to them."""
        with self.lock:
            self.index = 0
            self.next = ""
            self.failed.clear()
            self.last_good = None

    def stop(self) -> None:
        self.stopping.set()
        self.thread.join(5)

    def _tick(self) -> None:
        turn = time.monotonic() + self.delay_s
        while not self.stopping.wait(max(0.0, turn - time.monotonic())):
            turn += self.delay_s
            if self.held.is_set():
                continue
            with self.lock:
                if self.next:
                    try:
                        self._carry_out(self.next)
                    except ReloadFailed:
                        pass

    def _carry_out(self, rid: str) -> None:
        self.current = rid
        try:
            output = self._reload()
        except ReloadFailed as e:
            self.failed[rid] = self._record(rid, "failed", e.output)
            raise
        else:
            self.last_good = self._record(rid, "succeeded", output)
        finally:
            self.current = self.next = ""

    def _record(self, rid: str, status: str, output: str) -> dict[str, Any]:
        return {"id": rid, "status": status, "reload_timestamp": int(time.time()),
                **({"response": output} if output else {})}

    def _reload(self) -> str:
        try:
            if self.fail_next:
                message = self.fail_next.pop(0)
                raise ReloadFailed("exit status 1", message)
            if self.lies:
                self.lies -= 1
                output = ""
            else:
                output = self.reloader.reload()
        except ReloadFailed:
            _copy(self.good, self.file)
            raise
        _copy(self.file, self.good)
        return output


def _copy(source: pathlib.Path, target: pathlib.Path) -> None:
    temporary = target.with_name(f".{target.name}.copy")
    shutil.copyfile(source, temporary)
    temporary.replace(target)


def _older(rid: str, than: str) -> bool:
    """By date, else by number: both of them alone, as the API compares."""
    try:
        (day, number), (other_day, other_number) = ((datetime.date.fromisoformat(i.rpartition("-")[0]),
                                                     int(i.rpartition("-")[2])) for i in (rid, than))
    except ValueError:
        return False
    return day < other_day or number < other_number
