"""A headless Chromium, spoken to through a pipe (Chrome DevTools Protocol): pages that a test opens, reads and photographs."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from .process import wait_until

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions", "--disable-dev-shm-usage",
         "--disable-features=Translate,OptimizationHints,MediaRouter", "--mute-audio", "--hide-scrollbars", "--lang=en",
         "--force-color-profile=srgb", "--remote-debugging-pipe", "about:blank"]
PATIENCE = 30.0
PHONE = 360


def binary() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """Used with `with`. One reader, one writer: not for threads."""

    def __init__(self) -> None:
        self._home = tempfile.mkdtemp(prefix="haproxy-k8s-sync-browser-")
        self._id = 0
        self._buffer = b""
        self.events: list[dict[str, Any]] = []
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # It wants to be spoken to on 3 and 4: whatever has these numbers here must not be in the way.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in (theirs_in, theirs_out)]
        command = [f'exec 3<&{high[0]} 4>&{high[1]} {high[0]}<&- {high[1]}>&-; exec "$@"', "chromium", binary() or "chromium",
                   f"--user-data-dir={self._home}", *FLAGS]
        with open(os.path.join(self._home, "log"), "wb") as log:
            self._process = subprocess.Popen(["bash", "-c", *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                             pass_fds=high, start_new_session=True, env={"PATH": os.environ["PATH"], "HOME": self._home})
        for fd in (theirs_in, theirs_out, *high):
            os.close(fd)
        self._in, self._out = ours_in, ours_out

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(10)
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._home, ignore_errors=True)

    def _messages(self, timeout: float) -> Iterator[dict[str, Any]]:
        """What has come, after waiting for it for so long at most."""
        if select.select([self._in], [], [], timeout)[0]:
            got = os.read(self._in, 1 << 20)
            if not got:
                raise AssertionError("chromium ended: " + pathlib.Path(self._home, "log").read_text(errors="replace")[-2000:])
            self._buffer += got
        *whole, self._buffer = self._buffer.split(b"\0")
        for one in whole:
            yield json.loads(one)

    def call(self, method: str, session: str = "", /, **params: Any) -> dict[str, Any]:
        self._id += 1
        sent: dict[str, Any] = {"id": self._id, "method": method, "params": params}
        if session:
            sent["sessionId"] = session
        os.write(self._out, json.dumps(sent).encode() + b"\0")
        deadline, answer = time.monotonic() + PATIENCE, None
        while answer is None:
            assert time.monotonic() < deadline, f"chromium did not answer {method} within {PATIENCE:g} s"
            for message in self._messages(1.0):
                if message.get("id") == self._id:
                    answer = message
                elif "method" in message:
                    self.events.append(message)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return dict(answer["result"])

    def page(self) -> "Page":
        return Page(self)


class Page:
    """A tab. What it did is in its events: requests, console, exceptions, violations of the policy."""

    def __init__(self, browser: Browser):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")
        self.size(1280, 900)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **params)

    def close(self) -> None:
        self.browser.call("Target.closeTarget", targetId=self.target)

    def size(self, width: int, height: int, scale: float = 1, mobile: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile)

    def prefer(self, **features: str) -> None:
        """prefer(color_scheme="dark")"""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-" + name.replace("_", "-"), "value": value}
                                                          for name, value in features.items()])

    def scripts(self, on: bool) -> None:
        self.call("Emulation.setScriptExecutionDisabled", value=not on)

    def open(self, url: str) -> None:
        assert not self.call("Page.navigate", url=url).get("errorText"), url

    def value(self, expression: str) -> Any:
        """Of JavaScript; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, f"{expression}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def text(self, selector: str) -> str:
        return str(self.value(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def wait(self, expression: str, what: str = "", timeout: float = PATIENCE) -> Any:
        return wait_until(lambda: self.value(expression), timeout, what or expression, interval=0.05)

    def wait_text(self, selector: str, text: str, timeout: float = PATIENCE) -> None:
        def there() -> bool:
            found = self.text(selector)
            assert text in found, f"{selector} says {found[:400]!r}"
            return True

        wait_until(there, timeout, f"{text!r} in {selector}", interval=0.05)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def press(self, key: str, code: int) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def tree(self) -> list[tuple[str, str]]:
        """What assistive technology gets: (role, name) of every node that is not ignored."""
        return [(str(node["role"]["value"]), str(node.get("name", {}).get("value", "")))
                for node in self.call("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]]

    def screenshot(self, path: pathlib.Path, height: int = 0) -> None:
        """Of the whole page, or of so much of it."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": size["width"], "height": height or size["height"], "scale": 1})
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    # --- what it did

    def events(self, method: str) -> list[dict[str, Any]]:
        self.value("1")  # what was under way has come with the answer
        return [e["params"] for e in self.browser.events if e["method"] == method and e.get("sessionId") == self.session]

    def urls(self) -> set[str]:
        """All that it asked for."""
        return {e["request"]["url"] for e in self.events("Network.requestWillBeSent")}

    def complaints(self) -> list[str]:
        """Errors and warnings of its console, exceptions, and what its policy has kept it from."""
        found = [str(e["exceptionDetails"]) for e in self.events("Runtime.exceptionThrown")]
        found += [str(e["args"]) for e in self.events("Runtime.consoleAPICalled") if e["type"] in ("error", "warning", "assert")]
        found += [e["entry"]["text"] for e in self.events("Log.entryAdded") if e["entry"]["level"] in ("error", "warning")]
        return found
