"""Is this a configuration that HAProxy takes? Asked of the real `haproxy -c` where there is one."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile

from .cfgfile import parse
from .errors import ApiError

UNWANTED = ("HAPROXY_STARTUPLOGS_FD", "HAPROXY_MWORKER_WAIT_ONLY", "HAPROXY_PROCESSES")


def clean_env() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k not in UNWANTED}


class Checker:
    """Validates a configuration file; without an HAProxy only by a few structural rules."""

    def __init__(self, binary: str | None):
        self.binary = binary

    def writes_from(self) -> bool:
        """Whether proxies get a `from` as the API reads its file: not where HAProxy's version is no X.Y.Z-REST, such as that of a
        build outside git, which it cannot read."""
        if self.binary is None:
            return True
        said = subprocess.run([self.binary, "-v"], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=clean_env(),
                              timeout=60, check=False).stdout
        return re.match(r"HAProxy version (2\.([4-9]|\d\d)|[3-9]\.\d+)\.\d+-", said) is not None

    def check_file(self, path: str, tid: str = "") -> None:
        if self.binary is None:
            with open(path, encoding="utf-8") as f:
                errors = structural(f.read())
            if errors:
                raise validation_error([f'msg="{e}"' for e in errors], tid)
            return
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


def structural(text: str) -> list[str]:
    """What `--haproxy none` can still refuse: what users of the API can get wrong in a server line."""
    errors = []
    for section in parse(text).kind("backend"):
        names = [name for line in section.find("server-template") for name in _template_names(line.words)]
        for line in section.find("server"):
            words = line.words
            if len(words) < 3 or re.search(r"[^A-Za-z0-9_.:-]", words[1]):
                errors.append(f"config character is not permitted in server name '{words[1]}'.")
            if words[1] in names:
                errors.append(f"config backend '{section.name}', another server named '{words[1]}' was already defined")
            names.append(words[1])
            weight = words[words.index("weight") + 1] if "weight" in words[:-1] else "1"
            if not weight.isdigit() or int(weight) > 256:
                errors.append(f"config 'server {section.name}/{words[1]}' weight {weight} is not within 0 and 256")
    return [*errors, "config Fatal errors found in configuration."] if errors else []


def _template_names(words: list[str]) -> list[str]:
    low, _, high = words[2].rpartition("-")
    return [f"{words[1]}{i}" for i in range(int(low or 1), int(high) + 1)] if high.isdigit() else []
