"""The report as one self-contained page: no script, nothing fetched."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1c2126;--muted:#5a636e;--grid:#e3e7eb;--line:#c4cbd3;--panel:#f6f8fa;
 --ours:#0069a8;--other:#c2570c;--terminating:#f5b83d66;--gone:#8b949e66;--ready:#1a7f37;
 --commit:#1a7f37;--reload:#8540b5;--bad:#cf222e}
@media(prefers-color-scheme:dark){:root{--bg:#12161b;--fg:#e4e8ec;--muted:#9aa4af;--grid:#272e36;--line:#3c454f;--panel:#1a2027;
 --ours:#58aef0;--other:#f59a52;--terminating:#d899226b;--gone:#79828d80;--ready:#4ac26b;
 --commit:#4ac26b;--reload:#c297ee;--bad:#ff6b63}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1060px;padding:24px 20px 60px;background:var(--bg);color:var(--fg);
 font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
h1{font-size:24px;line-height:1.25;margin:0 0 8px}h2{font-size:18px;margin:36px 0 6px}h3{font-size:15px;margin:24px 0 6px}
p{margin:6px 0;max-width:78ch}.muted,.tick{color:var(--muted)}
.scroll{overflow-x:auto;margin:14px 0}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:13.5px;width:100%}
th,td{padding:5px 9px;text-align:right;white-space:nowrap;border-bottom:1px solid var(--grid)}
th{font-weight:600;vertical-align:bottom}thead tr:last-child th{border-bottom:2px solid var(--line)}
th:first-child{text-align:left;position:sticky;left:0;background:var(--bg);padding-left:0}
tbody th{font-weight:400}tbody th.sub{padding-left:16px;color:var(--muted)}
.aim{color:var(--muted);font-size:12px;white-space:nowrap;margin-left:4px}
.first{border-left:1px solid var(--line)}thead .group{text-align:center}
thead th{white-space:normal;overflow-wrap:anywhere;min-width:84px}thead .group{white-space:nowrap}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:8px 28px}
figure{margin:0}figcaption{font-size:14px;margin:10px 0 2px;font-weight:600}
.key{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:13px;color:var(--muted);margin:8px 0;padding:0;list-style:none}
.key li{display:flex;align-items:center;gap:6px}.key svg{width:18px;height:12px;flex:none}
svg{display:block;width:100%;height:auto}svg.narrow{display:none}
svg text{font-size:12px;fill:var(--fg);font-family:inherit}svg .tick{fill:var(--muted)}svg .none{fill:var(--muted);font-size:13px}
svg line,svg path{fill:none}.grid{stroke:var(--grid)}.axis{stroke:var(--line)}.limit{stroke:var(--bad);stroke-dasharray:4 3}
.guide{stroke:var(--muted);stroke-width:1;stroke-dasharray:1 4}
.growth{list-style:none;margin:2px 0 14px;padding:0 0 0 56px;font-size:13px}.growth .aim{display:block;margin-left:17px}.sizes th:first-child{white-space:normal;min-width:190px}
.sizes thead th{min-width:58px}svg .aim-at{fill:var(--bad);paint-order:stroke;stroke:var(--bg);stroke-width:4px}
.curve{stroke-width:2;stroke-linejoin:round}.curve.ours{stroke:var(--ours)}.curve.other{stroke:var(--other)}
svg .area.ours{fill:var(--ours);fill-opacity:.55}svg .area.other{fill:var(--other);fill-opacity:.55}
.rotation.ours,.swatch.ours{fill:var(--ours)}.rotation.other,.swatch.other{fill:var(--other)}
.terminating{fill:var(--terminating)}.gone{fill:var(--gone)}.ready{stroke:var(--ready);stroke-width:2}
.commit{stroke:var(--commit);stroke-width:1.5}.reload{stroke:var(--reload);stroke-width:1.2;stroke-dasharray:3 3}
.reload-dot{fill:var(--reload)}.slow{fill:var(--bad);fill-opacity:.7}.failed{stroke:var(--bad);stroke-width:2}
.broken{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:2 2}.dot{display:inline-block;width:10px;height:10px;border-radius:2px}
.dot.ours{background:var(--ours)}.dot.other{background:var(--other)}
@media(max-width:640px){body{padding:16px 14px 40px}svg.wide{display:none}svg.narrow{display:block}
 table{font-size:12.5px}th,td{padding:5px 6px;white-space:normal;min-width:74px}
 th:first-child{min-width:112px;width:112px}.aim{margin-left:0}tbody th.sub{padding-left:10px}
 h1{font-size:20px}}
@media print{body{max-width:none}figure{break-inside:avoid}}
"""

# What the signs of the timelines mean: (drawing, words)
SIGNS = (
    ('<rect x="0" y="1" width="18" height="10" class="terminating"/>', "terminating, still serves"),
    ('<rect x="0" y="1" width="18" height="10" class="gone"/>', "gone, refuses connections"),
    ('<line x1="9" y1="0" x2="9" y2="12" class="ready"/>', "ready again"),
    ('<rect x="0" y="5" width="18" height="2.5" class="rotation {colour}"/>', "in rotation in the running HAProxy"),
    ('<path d="M0 12V5H6V3H12V7H18V12Z" class="area {colour}"/>', "new connections"),
    ('<line x1="9" y1="0" x2="9" y2="12" class="commit"/>', "commit"),
    ('<line x1="9" y1="0" x2="9" y2="12" class="reload"/><circle cx="9" cy="6" r="3.5" class="reload-dot"/>', "reload"),
    ('<circle cx="9" cy="6" r="3" class="slow"/>', "slow"),
    ('<path d="M5 2L13 10M5 10L13 2" class="failed"/>', "failed"),
    ('<line x1="9" y1="0" x2="9" y2="12" class="broken"/>', "long-lived connection broken"),
)


def signs(colours: Sequence[str]) -> str:
    """colours: those of the timelines below."""
    made = []
    for drawing, words in SIGNS:
        for colour in colours if "{colour}" in drawing else [""]:
            made.append(f'<svg viewBox="0 0 18 12" aria-hidden="true">{drawing.replace("{colour}", colour)}</svg>')
        made[-1] += escape(words)
        if "{colour}" in drawing:
            made[-len(colours):] = ["".join(made[-len(colours):])]
    return '<ul class="key">' + "".join(f"<li>{one}</li>" for one in made) + "</ul>"


def names(controllers: Sequence[tuple[str, str]]) -> str:
    """(colour, name) of each, as a legend."""
    return '<ul class="key">' + "".join(f'<li><span class="dot {colour}"></span>{escape(name)}</li>'
                                        for colour, name in controllers) + "</ul>"


def table(groups: Sequence[tuple[str, Sequence[tuple[str, str]]]], rows: Sequence[tuple[str, str, Sequence[str]]]) -> str:
    """groups: (head, its columns as (colour, name)); rows: (what, aim, values). One that begins with a space belongs to the
    one above it."""
    firsts = {sum(len(columns) for _, columns in groups[:i]) for i in range(len(groups))}
    top = "".join(f'<th class="group first" colspan="{len(columns)}">{escape(head)}</th>' for head, columns in groups)
    columns = [column for _, group in groups for column in group]
    heads = "".join(f'<th{first(i in firsts)}><span class="dot {colour}"></span> {breakable(name)}</th>'
                    for i, (colour, name) in enumerate(columns))
    body = "".join(
        f'<tr><th scope="row"{" class=sub" if what.startswith(" ") else ""}>{escape(what.strip())}{hint(aim)}</th>'
        + "".join(f"<td{first(i in firsts)}>{escape(value).replace(' ms', '&nbsp;ms')}</td>" for i, value in enumerate(values))
        + "</tr>"
        for what, aim, values in rows)
    return (f'<div class="scroll"><table><thead><tr><th></th>{top}</tr><tr><th></th>{heads}'
            f"</tr></thead><tbody>{body}</tbody></table></div>")


def breakable(name: str) -> str:
    return escape(name).replace("/", "/<wbr>")


def hint(aim: str) -> str:
    return f' <span class="aim">aim: {escape(aim)}</span>' if aim else ""


def first(yes: bool) -> str:
    return ' class="first"' if yes else ""


def figure(caption: str, drawing: str) -> str:
    return f"<figure><figcaption>{escape(caption)}</figcaption>{drawing}</figure>"


def page(title: str, parts: Sequence[str]) -> str:
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body>\n<h1>{escape(title)}</h1>\n"
            + "\n".join(parts) + "\n</body></html>\n")
