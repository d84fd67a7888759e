"""Is this a configuration that HAProxy takes? Asked of the real `haproxy -c`."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile

from .errors import ApiError

UNWANTED = ("HAPROXY_STARTUPLOGS_FD", "HAPROXY_MWORKER_WAIT_ONLY", "HAPROXY_PROCESSES")


def clean_env() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k not in UNWANTED}


class Checker:
    def __init__(self, binary: str):
        self.binary = binary

    def writes_from(self) -> bool:
        """Whether proxies get a `from` as the API reads its file: not where HAProxy's version is no X.Y.Z-REST, such as that of a
        build outside git, which it cannot read."""
        said = subprocess.run([self.binary, "-v"], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=clean_env(),
                              timeout=60, check=False).stdout
        return re.match(r"HAProxy version (2\.([4-9]|\d\d)|[3-9]\.\d+)\.\d+-", said) is not None

    def check_file(self, path: str, tid: str = "") -> None:
        run = subprocess.run([self.binary, "-W", "-f", path, "-c"], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, errors="replace", env=clean_env(), timeout=60, check=False)
        if run.returncode:
            raise validation_error(alerts(run.stderr), tid, run.returncode)

    def check_text(self, text: str) -> None:
        fd, path = tempfile.mkstemp(prefix="onlyvalidate")
        try:
            with os.fdopen(fd, "w", encoding="utf-8") as f:
                f.write(text)
            self.check_file(path)
        finally:
            os.unlink(path)


def validation_error(lines: list[str], tid: str, code: int = 1) -> ApiError:
    head = f"err transactionId={tid} \n" if tid else ""
    return ApiError(400, f"validation error: exit status {code}: {head if lines else head[:-1]}" + "\n".join(lines))


def alerts(output: str) -> list[str]:
    """The [ALERT] lines of `haproxy -c` in the form in which the API passes them on."""
    out = []
    for line in map(str.strip, output.splitlines()):
        if not line.startswith("[ALERT]"):
            continue
        parts = line.split(" : ")
        place = re.match(r"\s*parsing \[.*:(\d+)\]", parts[1]) if len(parts) > 2 else None
        if place:
            out.append(f'line={place[1]} msg="{" ".join(parts[2:]).strip()}"')
        elif len(parts) > 1:
            out.append(f'msg="{" ".join(parts[1:]).strip()}"')
    return out
