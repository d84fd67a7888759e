"""Random legal files, mutated from real ones, through a real Data Plane API: each keeps its meaning, or haproxy/cfg says that it does
not, and then the daemon puts the file from before back.

$HAPROXY_SOURCE: a folder of HAProxy's sources, whose examples and regression files are mutated, too; $RANDOM_FILES: how many, from
$SEED on. What it finds is written out whole."""

from __future__ import annotations

import collections
import os
import pathlib
import subprocess
from collections.abc import Iterator

import pytest

from tests.harness import parts
from tests.harness.daemon import ROOT
from tests.harness.haproxy import HAProxy, DataPlane

from .conftest import CONFIG, make
from .random_files import Maker, words_of

RAW = "/configuration/raw"
COUNT = int(os.environ.get("RANDOM_FILES", "100"))


class Meaning:
    """haproxy/cfg, asked through build/meaning."""

    def __init__(self) -> None:
        program = ROOT / "build" / "meaning"
        assert program.exists(), f"{program} is missing: make build/meaning"
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, word: str, one: str, two: str = "") -> tuple[bool, str]:
        assert self.process.stdin and self.process.stdout
        first, second = one.encode(), two.encode()
        self.process.stdin.write(f"{word} {len(first)} {len(second)}\n".encode() + first + second)
        self.process.stdin.flush()
        status, size = self.process.stdout.readline().split()
        return status == b"1", self.process.stdout.read(int(size)).decode(errors="replace")

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        assert self.process.wait(10) == 0


pytestmark = parts.real_dataplane


@pytest.fixture
def meaning() -> Iterator[Meaning]:
    made = Meaning()
    yield made
    made.close()


@pytest.fixture
def real(tmp_path: pathlib.Path) -> Iterator[DataPlane]:
    with HAProxy(tmp_path, CONFIG) as haproxy, make("real", haproxy, tmp_path) as plane:
        yield plane


def forget_failed(plane: DataPlane) -> None:
    for transaction in plane.get("/transactions").json():
        plane.delete(f"/transactions/{transaction['id']}")


@pytest.mark.parametrize("seed", [int(os.environ.get("SEED", "1")) + i for i in range(2)])
def test_a_real_api_keeps_the_meaning_or_it_is_seen(real: DataPlane, meaning: Meaning, tmp_path: pathlib.Path, seed: int) -> None:
    own = [CONFIG, pathlib.Path(__file__).with_name("rich.cfg").read_text()]
    maker = Maker(seed, own)
    counts: collections.Counter[str] = collections.Counter()
    for number in range(COUNT):
        sendable, sent = meaning.ask("source", maker.text().replace("{d}", str(tmp_path)).replace("{fe}", "8002"))
        query = f"{RAW}?version={real.version()}"
        if not sendable:
            counts["not sent"] += 1
        elif real.post(f"{query}&only_validate=true", sent, content_type="text/plain", timeout=30).status != 202:
            counts["invalid"] += 1
        else:
            answer = real.post(f"{query}&skip_reload=true", sent, content_type="text/plain", timeout=30)
            what = f"file {number} of seed {seed}:\n{sent}\n---- is ----\n{answer.text}"
            assert answer.status in (201, 400), what
            if answer.status == 400:
                counts["refused by the API"] += 1
                forget_failed(real)
                continue
            same, differs = meaning.ask("compare", sent, answer.text)
            counts["kept" if same else "seen to change"] += 1
            assert not same or words_of(sent) == words_of(answer.text), f"words are lost or added, in {what}"
            assert same or differs, what
    print(f"seed {seed}, {len(maker.seeds)} seeds: {dict(counts)}")
    assert counts["kept"] > COUNT / 20, counts  # else nothing was tried
