"""What the bench of growth says of its figures, from figures that are made up."""

from __future__ import annotations

import math
import pathlib
import re
import xml.etree.ElementTree as ElementTree

import pytest

from tests.bench import charts, scale
from tests.bench.growth import Curve, Plot, exponent

SIZES = (1, 4, 16, 64, 300)


def power(k: float, fixed: float = 0.0) -> tuple[tuple[float, float], ...]:
    return tuple((size, fixed + 3 * size ** k) for size in SIZES)


@pytest.mark.parametrize("k", [-0.5, 0, 0.3, 1, 2])
def test_exponent(k: float) -> None:
    assert exponent(power(k)) == pytest.approx(k)


@pytest.mark.parametrize("points, said", [
    (power(0), "hardly grows (exponent 0.00 of the last 3, 0.00 of all)"),
    (power(-1), "falls (exponent -1.00 of the last 3, -1.00 of all)"),
    (power(0.5), "grows less than in proportion (exponent 0.50 of the last 3, 0.50 of all)"),
    (power(1), "grows in proportion (exponent 1.00 of the last 3, 1.00 of all)"),
    (power(1.3), "grows faster than in proportion (exponent 1.30 of the last 3, 1.30 of all)"),
    (power(1)[:3], "grows in proportion (exponent 1.00)"),
    (power(1)[:1], "too few figures to tell"), (((1, 0.0), (4, 0.0)), "too few figures to tell"), ((), "too few figures to tell")])
def test_words(points: tuple[tuple[float, float], ...], said: str) -> None:
    assert Curve("c", points).growth == said


def test_a_fixed_cost_does_not_hide_how_it_goes_on() -> None:
    assert re.fullmatch(r"grows faster than in proportion \(exponent 1\.\d\d of the last 3, 0\.\d\d of all\)", Curve("c", power(2, 5000)).growth)


@pytest.mark.parametrize("low, high, said", [(0.8, 125, [1, 2, 5, 10, 20, 50, 100]), (1, 10, [1, 2, 3, 5, 7, 10]), (200, 450, [200, 300, 400]), (1, 3000, [1, 3, 10, 30, 100, 300, 1000, 3000])])
def test_ticks(low: float, high: float, said: list[float]) -> None:
    assert charts.log_ticks(low, high) == pytest.approx(said)


def test_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVER_BACKENDS", "64x300, 4 64")
    assert scale._sizes("OVER_BACKENDS", "1") == [(4, 100), (64, 100), (64, 300)]
    monkeypatch.setenv("OVER_BACKENDS", "")
    assert not scale._sizes("OVER_BACKENDS", "1")


def test_page(tmp_path: pathlib.Path) -> None:
    """Each figure is a point of a curve; an aim stands at its size, and nowhere where that was not taken."""
    plots = [Plot("Memory", "MB", "nodes", (Curve("protobuf <b>", power(1)), Curve("JSON", power(0)[:4])), ((64, 200.0), (50_000, 7.0)))]
    path = tmp_path / "bench" / "scale.html"
    scale._page([("Over nodes", plots), ("Over backends", [Plot("None", "s", "x", ())])], [("they leave", "5 s", "1 s")], path)
    text = path.read_text()
    assert "protobuf &lt;b&gt; <b>grows in proportion</b>" in text and "JSON <b>hardly grows</b>" in text and "Over backends" not in text
    assert "aim: 5 s" in text and "<td>1 s</td>" in text and "src=" not in text and "url(" not in text
    svg = ElementTree.fromstring(re.search("<svg.*?</svg>", text)[0])  # type: ignore[index]
    circles = [(float(c.get("cx") or ""), float(c.get("cy") or ""), c[0].text) for c in svg.iter("circle")]
    assert len(circles) == 9
    ours = sorted(c for c in circles if (c[2] or "").startswith("protobuf"))
    assert [c[2] for c in ours] == [f"protobuf <b>, {size} nodes: {3 * size} MB" for size in SIZES]
    slopes = [(a[1] - b[1]) / (b[0] - a[0]) for a, b in zip(ours, ours[1:])]
    assert slopes == pytest.approx([slopes[0]] * 4, abs=0.02) and slopes[0] > 0, "a power of the size is a straight line"
    assert [line.get("class") for line in svg.iter("line")].count("limit") == 1


def test_a_plot_over_time(tmp_path: pathlib.Path) -> None:
    """Two axes that are not logarithmic, dots, and a figure that is 0 or the same all along."""
    flat = Plot("Files", "", "s", (Curve("a", tuple((at, 0.0) for at in range(5000))),), log_x=False, log_y=False)
    dots = Plot("Took", "ms", "s", (Curve("b", ((0.0, 1.0), (9.0, 1000.0))), Curve("c", ())), log_x=False, dots=True)
    one, other = (ElementTree.fromstring(found) for found in re.findall("<svg.*?</svg>", charts.panels([flat, dots])))
    places = re.findall(r"[ML]([\d.]+) ([\d.]+)", next(one.iter("path")).get("d") or "")
    assert len({y for _, y in places}) == 1 and float(places[0][0]) < float(places[-1][0]) and len(places) <= charts.MOST_POINTS
    assert len(list(other.iter("circle"))) == 2


def test_who_took_for_ever_is_left_over() -> None:
    assert charts.longer([3.0, 1.0, math.inf, 2.0]) == ((1.0, 1.0), (2.0, 0.75), (3.0, 0.5)) and charts.longer([math.inf]) == ()
