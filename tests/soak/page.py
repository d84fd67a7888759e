"""The soak as one page: the table, and everything over time. Shapes and styles are the bench's."""

from __future__ import annotations

from html import escape

from tests.bench import html

from . import latencies, plots, report
from .soak import Result

STYLE = """<style>
.fit{stroke:var(--other);stroke-width:1.6;stroke-dasharray:6 4}.before{fill:var(--grid);fill-opacity:.55}
svg .dots{stroke-width:4;stroke-linecap:round;stroke-opacity:.7}
.dots.told{stroke:var(--ready)}.dots.fast{stroke:var(--ours)}.dots.transaction{stroke:var(--reload)}
.dot.told{background:var(--ready)}.dot.fast{background:var(--ours)}.dot.transaction{background:var(--reload)}
.instep{fill:var(--ready);fill-opacity:.75}.trouble{stroke:var(--bad);stroke-width:1.3;stroke-opacity:.8}
.verdict{margin:14px 0;padding:10px 14px;background:var(--panel);border-left:4px solid var(--ready)}
.verdict.failed{border-color:var(--bad)}.verdict p{margin:2px 0}
.counts td{text-align:left;white-space:normal}
</style>"""


def _verdict(result: Result) -> str:
    lines = "".join(f"<p>{escape(line)}</p>" for line in report.conclusion(result))
    return f'<div class="verdict{" failed" if result.failures else ""}">{lines}</div>'


def _table(heads: list[str], rows: list[report.Row], css: str = "") -> str:
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    body = "".join(f'<tr><th scope="row">{escape(name)}</th>' + "".join(f"<td>{escape(value)}</td>" for value in values) + "</tr>"
                   for name, values in rows)
    thead = f"<thead><tr>{head}</tr></thead>" if heads else ""
    return f'<div class="scroll"><table class="{css}">{thead}<tbody>{body}</tbody></table></div>'


def _introduction(result: Result) -> str:
    about, settings = result.about, result.settings
    return (f'<p class="muted">{escape(about["parts"])}; {settings.rate:g} changes a second for {report.clock(settings.seconds)}, '
            f'SEED={settings.seed}; {about["cpus"]} CPUs, {escape(about["machine"])}, load {about["load_before"]} before and '
            f'{about["load_after"]} after; {about["when"]}</p>')


def render(result: Result) -> str:
    parts = [
        STYLE, _introduction(result), _verdict(result), _table(report.HEADS, list(report.trend_rows(result))),
        _table(["p50 / p99 (how many)", "first third", "last third"], list(report.latency_rows(result))),
        "<h2>What it costs</h2>",
        '<p class="muted">Shaded: not judged. Dashed: the line through what is judged (Theil-Sen).</p>',
        *(html.figure(name, drawing) for name, drawing in plots.costs(result)),
        "<h2>How long it took for a change</h2>",
        html.names([(way, name) for way, name in latencies.NAMES.items()]),
        html.figure("", plots.latency(result)).replace("<figcaption></figcaption>", ""),
        '<p class="muted">A transaction gathers what comes within two seconds; all wait for a trouble to be over.</p>',
        "<h2>What befell it, and when it was in sync</h2>",
        html.figure("", plots.troubles(result)).replace("<figcaption></figcaption>", ""),
        "<h2>Counted</h2>", _table([], list(report.count_rows(result)), "counts")]
    warnings = report.said(result)
    if warnings:
        items = "".join(f"<li>{escape(one)}</li>" for one in warnings)
        parts += ["<h3>Warnings and errors in its log</h3>", f"<ul>{items}</ul>"]
    return html.page("A soak of haproxy-k8s-sync", parts)
