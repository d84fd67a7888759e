"""Recorded requests sent again to the double, and how a true answer and the double's are compared.

Values that no two runs share (ids, times, ports, folders, health at that moment) are compared by form, all others as
they are.
"""

from __future__ import annotations

import difflib
import json
import pathlib
import re
from typing import Any

from tests.doubles.dataplane.cfgfile import managed
from tests.harness.certificates import self_signed
from tests.harness.haproxy import AUTH, DoubleDataPlane, HAProxy
from tests.harness.process import ROOT, wait_until

RECORDINGS = ROOT.parent / "shared" / "data" / "dataplane"
WHOLE = ROOT.parent / "shared" / "data" / "dataplane-config"  # whole configurations and files
UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
RELOAD_ID = r"\d{4}-\d\d-\d\d-\d+"
# Fields by form only: what the clock, the machine or a health check at that moment decides.
BY_TYPE = {"build_date", "reload_timestamp", "last_time_change", "operational_state", "check_health", "check_result",
           "check_state", "check_status", "iweight", "backend_id", "serial", "not_before", "not_after"}
# HAProxy's own words at a reload: by which way, and from which version on, decides whether there are any.
MAY_LACK = {"response"}


def load(name: str, where: pathlib.Path = RECORDINGS) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (where / name).read_text().splitlines()]


class Replay:
    """One group of a recording against a freshly started HAProxy and double."""

    def __init__(self, lines: list[tuple[int, dict[str, Any]]], haproxy: HAProxy, double: DoubleDataPlane,
                 differs: dict[str, str], same_haproxy: bool):
        self.lines = lines
        self.haproxy = haproxy
        self.double = double
        self.differs = differs
        self.same_haproxy = same_haproxy
        files = double.dir / "storage"
        self.names: dict[str, str] = {"{DIR}/maps": f"{files}/maps", "{DIR}/gen/": f"{files}/general/", "{DIR}/ssl": f"{files}/ssl",
                                      "{DIR}": str(haproxy.dir)}
        self.recorded_reload = ""
        self.recorded_ids: dict[str, str] = {}
        self.recorded_port = ""
        self.failures: list[str] = []
        self.at_start = haproxy.config.read_text()

    def run(self) -> list[str]:
        self.double.fault({"action": "hold-ticker"})
        port = next((m[1] for _, line in self.lines for text in (line.get("file"), line.get("request"))
                     if isinstance(text, str) and (m := re.search(r"  bind 127\.0\.0\.1:(\d+)", text))), None)
        self.recorded_port = port or "0"
        for number, line in self.lines:
            self.where = f"line {number} ({line['group']}: {line['step']})"
            self._before(line)
            if "file" in line:
                self._file(line["file"])
            elif "unchanged" in line:
                if self.haproxy.config.read_text() != self.at_start:
                    self.fail("the file changed")
            else:
                self._request(line)
        return self.failures

    def fail(self, what: str) -> None:
        self.failures.append(f"{self.where}: {what}")

    def settle(self) -> None:
        """Lets the ticker have its turn, and holds it again."""
        self.double.clear_faults()
        wait_until(lambda: all(r["status"] != "in_progress" for r in self.double.get("/reloads").json()), 20,
                   "the pending reload")
        self.double.fault({"action": "hold-ticker"})

    def _before(self, line: dict[str, Any]) -> None:
        """What the recorder did between the requests."""
        recorded = line.get("headers", {}).get("Reload-ID", self.recorded_reload)
        another = self.recorded_reload and recorded != self.recorded_reload  # there the ticker had its turn meanwhile
        self.recorded_reload = recorded
        if another or line["step"] in ("reload later", "its reload", "runtime"):
            self.settle()
        elif line["step"] == "none left":
            for transaction in self.double.get("/transactions").json():
                self.double.delete(f"/transactions/{transaction['id']}")
        elif self.where == "line 65 (refusals: version)":
            copy = self.haproxy.config.with_suffix(".edited")
            copy.write_text(self.haproxy.config.read_text().replace("timeout connect 2s", "timeout connect 3s"))
            copy.replace(self.haproxy.config)
        elif isinstance(line.get("response"), list) and "runtime" in line["path"] and line["step"] == "seen":
            if len(line["response"]) > len(self.haproxy.servers("be")):
                self.settle()  # there the ticker had its turn just before

    def _here(self, text: str) -> str:
        """A recorded text with this run's names in it."""
        for name, value in {**self.names, **self.recorded_ids}.items():
            text = text.replace(name, value)
        return re.sub(rf"127\.0\.0\.1:{self.recorded_port}(?=\r?\n)", f"127.0.0.1:{self.haproxy.port}", text)

    def _request(self, line: dict[str, Any]) -> None:
        body = line["request"]
        if isinstance(body, str):
            body = self._certificates(line, body) if "{CERTIFICATE}" in body else body if "--boundary" in body else self._here(body)
        actions = line.get("runtime_actions")
        answer = self.double.request(line["method"], self._here(line["path"]), body, auth=line.get("auth", AUTH),
                                     content_type=line.get("content_type") or ("text/plain" if isinstance(body, str) else None),
                                     headers={"X-Runtime-Actions": actions} if actions else None)
        if answer.status != line["status"]:
            self.fail(f"status {answer.status}, recorded {line['status']}; body {answer.text[:300]}")
        self._headers(line["headers"], answer.headers)
        kind = answer.headers.get("Content-Type", "")
        plain = kind.startswith(("text/plain", "application/octet-stream")) and isinstance(line["response"], str)
        got: Any = answer.text if plain else None
        if got is None and answer.body:
            got = answer.json()
        self._learn(line, got)
        if line["step"] in self.differs:
            return
        if isinstance(line["response"], str) and kind == "application/octet-stream":
            self._value("content", line["response"], got, "content")
        elif isinstance(line["response"], str):
            self._file(line["response"], got)
        else:
            self._compare(line["response"], got, line["step"] == "backends")

    def _certificates(self, line: dict[str, Any], body: str) -> str:
        """A pair of the kind that the file's name says: rsa.example.com.pem."""
        name = re.search(r'filename="(.*)\.pem"|/(\w+)\.pem', body + line["path"])
        assert name, line["step"]
        name = (name[1] or name[2]).replace("_", ".")
        pair = self_signed(self.double.dir, name, name.partition(".")[0] if "." in name else "ec")
        return body.replace("{CERTIFICATE}\n", pair.certificate.read_text()).replace("{PRIVATE KEY}\n", pair.key.read_text())

    def _headers(self, recorded: dict[str, str], got: Any) -> None:
        for name, value in recorded.items():
            actual = got.get(name, "absent")
            if name == "Reload-ID":
                if not re.fullmatch(RELOAD_ID, actual):
                    self.fail(f"header {name} is {actual}, recorded {value}")
                self.names["{R}"] = actual
            elif name == "Configuration-Checksum":  # of a text in which folder and port stand
                if not re.fullmatch(r"[0-9a-f]{32}", actual):
                    self.fail(f"header {name} is {actual}, recorded {value}")
            elif actual != value:
                self.fail(f"header {name} is {actual}, recorded {value}")
        if "Reload-ID" not in recorded and "Reload-ID" in got:
            self.fail(f"header Reload-ID is {got['Reload-ID']}, recorded none")

    def _learn(self, line: dict[str, Any], got: Any) -> None:
        if line["step"] == "version":
            self.names["{V}"] = str(got)
        begins = line["method"] == "POST" and line["path"].partition("?")[0].endswith("/transactions")
        if begins and line["status"] == 201:
            count = sum(1 for name in self.names if name.startswith("{T"))
            self.names[f"{{T{count + 1}}}"] = got["id"]
            self.recorded_ids[line["response"]["id"]] = got["id"]

    def _compare(self, recorded: Any, got: Any, any_order: bool = False, at: str = "body") -> None:
        if isinstance(recorded, dict) and isinstance(got, dict):
            if "serial" in recorded and "size" in recorded and "size" in got:  # a certificate
                recorded = {**recorded, "size": got["size"]}
            for key in {*recorded, *got}:
                if (key in recorded) != (key in got) and key not in MAY_LACK:
                    self.fail(f"{at}.{key} is {'absent' if key in recorded else repr(got[key])}, recorded "
                              f"{'absent' if key in got else repr(recorded[key])}")
                elif key in recorded and key in got:
                    self._compare(recorded[key], got[key], any_order, f"{at}.{key}")
        elif isinstance(recorded, list) and isinstance(got, list):
            if len(recorded) != len(got):
                self.fail(f"{at} has {len(got)} entries, recorded {len(recorded)}: {got}")
                return
            if any_order or at == "body" and recorded and "_version" in recorded[0]:
                def name(entry: Any) -> str:
                    return entry.get("name") or self.recorded_ids.get(entry["id"], entry["id"])
                recorded, got = sorted(recorded, key=name), sorted(got, key=name)
            for i, (one, other) in enumerate(zip(recorded, got)):
                self._compare(one, other, any_order, f"{at}[{i}]")
        else:
            self._value(at.rpartition(".")[2], recorded, got, at)

    def _value(self, key: str, recorded: Any, got: Any, at: str) -> None:
        if type(recorded) is not type(got):
            self.fail(f"{at} is {got!r}, recorded {recorded!r}")
        elif key in BY_TYPE or key in MAY_LACK:
            return
        elif key == "id" and isinstance(recorded, str) and recorded.startswith("0x"):  # where an entry of a map lies
            if not re.fullmatch("0x[0-9a-f]+", got):
                self.fail(f"{at} is {got!r}, not of the form of {recorded!r}")
        elif "runtime maps" in self.where and key in ("id", "description") and not self.same_haproxy:
            return  # numbered and described by HAProxy
        elif key == "version" and at == "body.api.version":
            if recorded.split(".")[:2] != got.split(".")[:2]:
                self.fail(f"{at} is {got!r}, recorded {recorded!r}")
        elif isinstance(recorded, str):
            form = next((form for form in (RELOAD_ID, UUID) if re.fullmatch(form, recorded)), None)
            if key == "message" and recorded.startswith("validation error"):
                recorded, got = self._validation(self._here(recorded)), self._validation(got)
            if form and form != RELOAD_ID or form and recorded != "2020-01-01-7":
                if not re.fullmatch(form, got):
                    self.fail(f"{at} is {got!r}, not of the form of {recorded!r}")
            elif self._here(recorded) != got:
                self.fail(f"{at} is {got!r}, recorded {recorded!r}")
        elif recorded != got:
            self.fail(f"{at} is {got!r}, recorded {recorded!r}")

    def _validation(self, message: str) -> str:
        """HAProxy's words are those of its version: all where it is the same, else only what the API puts before."""
        message = re.sub(UUID, "ID", re.sub(r"/tmp/onlyvalidate\w+", "/tmp/onlyvalidate", message))
        return message if self.same_haproxy else re.split(r"(line=|msg=)", message)[0]

    def _file(self, recorded: str, got: str | None = None) -> None:
        text = self.haproxy.config.read_text() if got is None else got
        if recorded.startswith("# _md5hash") and not managed(text):
            self.fail("the checksum in the first line is not that of the rest")
        expected = self._here(recorded).partition("\n")[2]
        actual = text.partition("\n")[2]
        if expected != actual:
            self.fail("the file differs:\n" + _diff(expected, actual))


def _diff(expected: str, actual: str) -> str:
    lines = difflib.unified_diff(expected.splitlines(), actual.splitlines(), "recorded", "double", lineterm="", n=1)
    return "\n".join(lines)


def names(where: pathlib.Path = RECORDINGS) -> list[str]:
    return sorted(path.name for path in where.glob("*.jsonl")) if where.is_dir() else []


def start_file() -> str:
    return pathlib.Path(RECORDINGS / "haproxy.cfg.in").read_text()
