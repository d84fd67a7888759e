"""`make demo-config` as somebody runs it: what it promises is seen, the file stays editable, and nothing is left behind."""

from __future__ import annotations

import pathlib
import re
import signal

from tests.harness.process import ROOT, Process, wait_until


def test_a_whole_configuration_is_shown_and_stays_editable(tmp_path: pathlib.Path) -> None:
    demo = Process(["/usr/bin/python3", "-m", "tests.demo", "--configuration", "--keep"], tmp_path / "log", cwd=ROOT, name="demo")
    try:
        wait_until(lambda: (not demo.alive or "Edit the file and watch" in demo.log()), 60, "the demo to be through")
        said = demo.log()
        assert demo.alive, said
        assert re.search(r"rejected: line 20: unknown keyword 'balanse'", said), said
        assert re.search(r"^   [1-9][0-9]* requests, 0 failed\.$", said, re.M), said
        answers = re.findall(r"^   (\S.*?) {2,}(unchanged|applied|rejected) +[0-9]+ +([0-9]+) +[0-9]+ +([0-9]+)$", said, re.M)
        assert answers == [("the file as it is", "unchanged", "0", "0"), ("three servers", "applied", "1", "0"),
                           ("a comment", "unchanged", "0", "0"), ("a typing error", "rejected", "0", "0"),
                           ("one server goes", "applied", "1", "0")], said
        source = pathlib.Path(re.search(r"^   the file +(\S+)$", said, re.M)[1])  # type: ignore[index]
        source.write_text(source.read_text().replace("  timeout connect 2s", "  timeout connect 3s"))
        wait_until(lambda: 'msg="configuration applied"' in demo.log()[len(said):], 20, "the edit to be applied")
        demo.signal(signal.SIGINT)
        assert demo.wait(20) == 0, demo.log()
        assert not source.parent.parent.exists(), "its folder is left"
    finally:
        demo.stop()
