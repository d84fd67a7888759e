"""The status page in a real browser, drawn by the daemon that is delivered: what people see, and what their readers read out.

RENEW_SCREENSHOTS=1 pytest tests/delivery/test_status_page.py     draws docs/status-page*.png anew"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.demo.configuration import FileBalancer
from tests.harness import objects
from tests.harness.browser import PHONE, Browser, Page, binary
from tests.harness.daemon import Daemon
from tests.harness.process import ROOT, wait_until

from .png import shrink
from .status_scene import NAMESPACE, SERVICE, Scene, ServicesScene, TemplateScene, look, page_url

pytestmark = pytest.mark.skipif(binary() is None, reason="no Chromium here (Debian: chromium): the page is not looked at")

CLOCK = r"\d\d:\d\d"
HOSTILE = "<img src=x onerror=hacked=1>\u202e"
MARK = "window.sameDocument = true"


@pytest.fixture
def scene(tmp_path: pathlib.Path) -> Iterator[Scene]:
    with Scene(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """In front of three live nodes, for those who only read."""
    with Scene(tmp_path_factory.mktemp("calm")) as made:
        daemon = made.play()
        made.on(1, 2, 3)
        made.wait_rotation(1, 2, 3)
        yield daemon


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as made:
        yield made


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    made = browser.page()
    yield made
    made.close()


def quiet(page: Page, url: str) -> None:
    """It asked for nothing from elsewhere, and has nothing to complain about."""
    assert all(u.startswith((url, "data:")) for u in page.urls()), page.urls()
    assert page.complaints() == []


def rows(page: Page) -> dict[str, str]:
    """Node -> its state, of the rows that are to be seen."""
    found = page.value("""Object.fromEntries([...document.querySelectorAll('#nodes tbody tr')].filter(r => !r.hidden)
        .map(r => [r.querySelector('th').textContent, r.querySelector('td[data-l=State]').textContent]))""")
    return dict(found)


def wait_rows(page: Page, wanted: dict[str, str]) -> None:
    page.wait(f"JSON.stringify({json.dumps(wanted)}, Object.keys({json.dumps(wanted)}).sort()) === (() => {{ const o = {{}};"
              "for (const r of document.querySelectorAll('#nodes tbody tr')) o[r.querySelector('th').textContent] ="
              "r.querySelector('td[data-l=State]').textContent; return JSON.stringify(o, Object.keys(o).sort()); })()", f"rows {wanted}")


def fits(page: Page) -> None:
    page.value("new Promise(seen => requestAnimationFrame(() => requestAnimationFrame(seen)))")  # the lines are drawn anew before a frame is
    assert page.value("document.documentElement.scrollWidth") <= page.value("innerWidth"), "it has to be scrolled sideways"
    out = page.value("""[...document.querySelectorAll('main .card, .now')].flatMap(card => [...card.querySelectorAll('*')]
        .filter(e => e.checkVisibility() && !e.closest('.vh, thead') && e.getBoundingClientRect().right > card.getBoundingClientRect().right))
        .map(e => e.className + ' ' + e.textContent.slice(0, 40))""")
    assert not out, f"it sticks out of its card: {out[:5]}"


def test_no_usable_endpoint_is_red(scene: Scene, page: Page) -> None:
    """Though HAProxy keeps its servers, which are UP: at the top, with the reason and what to do; where it has none, too."""
    daemon = scene.play()
    scene.on(1, 2)
    scene.wait_rotation(1, 2)
    look(page, daemon)
    scene.on()
    page.wait_text("#say", "No usable endpoint")
    assert page.value("document.getElementById('now').className") == "now bad" and page.value("document.title").startswith("No usable endpoint")
    said = page.text("#say")
    assert re.match(rf"No usable endpoint since {CLOCK}\n", said) and f"No usable endpoint of Service {NAMESPACE}/{SERVICE} since " in said
    assert "the Service has no endpoints: no pod matches its selector" in said and "HAProxy keeps its last 2 servers." in said and "What to do: kubectl" in said
    assert "no usable endpoint: " in page.text(".svc.bad") and page.text(".lb header").split("\n")[1:] == ["2 of 2 UP", "keeps its last servers"]
    assert page.value("[...document.querySelectorAll('#figures div')].map(e => e.className + ' ' + e.innerText.replace(/\\s+/g, ' '))")[1] == "bad nodes live 0"
    # In the words of a reader, not of the API.
    page.wait_text("#history li", "keeping the last 2 servers")
    assert page.text("#history li .pill.bad") == "kept"
    assert f"pods of {SERVICE} changed" in page.text("#history li") and "MODIFIED" not in page.text("#history")
    scene.on(1, 2)
    page.wait_text("#say", "In sync")
    scene.kube.put(objects.service(SERVICE, namespace=NAMESPACE, annotations={"haproxy-k8s-sync/paused": "true"}))
    page.wait_text("#say", f"To go on: kubectl --namespace {NAMESPACE} annotate service {SERVICE} haproxy-k8s-sync/paused-")
    page.wait_text("#history li", f"paused by the Service's annotation\nService {SERVICE} changed")
    scene.kube.put(objects.service(SERVICE, namespace=NAMESPACE))
    page.wait_text("#history li", "no longer paused")
    daemon.stop()
    daemon.env["ALLOW_EMPTY"] = "true"
    daemon.start()
    page.wait_text("#link", "connected")
    scene.on()
    page.wait_text("#say", "HAProxy has no server in backend be.")
    page.wait_text(".lb", "in sync")
    assert page.value("document.title").startswith("No usable endpoint") and page.value("!!document.querySelector('.lb .pill.bad')")


def test_the_title_says_which_cluster(calm: Daemon, page: Page) -> None:
    look(page, calm)
    page.value("source.close(); clearInterval(ticking)")
    page.value("show({...last, cluster: null})")
    assert page.value("document.title") == "In sync · haproxy-k8s-sync" and not page.value("document.getElementById('cluster').checkVisibility()")
    page.value(f"show({{...last, cluster: 'prod-east' + {json.dumps(HOSTILE)}}})")
    assert page.value("document.title") == "In sync · prod-east<img src=x onerror=hacked=1>\\u{202e} · haproxy-k8s-sync"
    assert page.text(".top").replace("\n", " ").startswith("haproxy-k8s-sync cluster prod-east<img") and page.value("document.querySelectorAll('img').length") == 0


def test_wide_screens_are_filled_by_columns(calm: Daemon, page: Page) -> None:
    look(page, calm)
    columns = """new Set([...document.querySelectorAll('main section.card')].filter(e => e.checkVisibility()).map(e => Math.round(e.getBoundingClientRect().left))).size"""
    for width, wanted in ((1280, 1), (1920, 2), (2560, 3)):
        page.size(width, 1000)
        fits(page)
        assert page.value(columns) == wanted, width
        edge = page.value("Math.max(...[...document.querySelectorAll('main section.card')].map(e => e.getBoundingClientRect().right))")
        assert edge > width - 40, f"at {width} it ends at {edge}"
        assert page.value("[...document.querySelectorAll('.wrap')].every(e => e.scrollWidth <= e.clientWidth)"), f"a table has to be scrolled at {width}"


def test_a_change_appears_by_itself(scene: Scene, page: Page) -> None:
    daemon = scene.play()
    look(page, daemon)
    page.wait_text("#link", "connected")
    wait_rows(page, {"worker-1": "live"})
    page.value(MARK)
    scene.on(1, 2)
    wait_rows(page, {"worker-1": "live", "worker-2": "live"})
    page.wait_text("#flows", "worker-2")
    page.wait_text("#history", "added worker-2 (10.20.0.12:30443)")
    page.wait_text("#say", "In sync")
    assert "after the event" in page.text("#history") and re.search(r"\d (ms|s|µs)", page.text("#figures"))
    paths = page.value("document.querySelectorAll('.flow svg path').length")
    assert paths == 4, "from the Service to two nodes, from each to its server"
    assert page.value("window.sameDocument"), "the page was loaded again"
    assert page.value("document.title").startswith("In sync")
    quiet(page, page_url(daemon))


def test_a_server_that_haproxy_calls_down_is_not_shown_as_live(scene: Scene, page: Page) -> None:
    daemon = scene.play(RESYNC_PERIOD="1s")
    scene.on(1, 2)
    scene.wait_rotation(1, 2)
    look(page, daemon)
    page.wait("document.querySelectorAll('.lb li.live').length === 2")
    scene.haproxy.runtime("set server be/worker-2 health down")
    page.wait_text("#say", "DOWN by the health check of")
    assert page.value("[...document.querySelectorAll('.lb li')].map(li => li.className).join()") == "live,bad"
    words = page.value("[...document.querySelectorAll('.lb li .word')].map(e => e.innerText)")
    assert words[0] == "UP" and re.fullmatch(rf"DOWN since {CLOCK}", words[1]), words
    assert page.text(".lb .count") == "1 of 2 UP" and "1 UP, 1 DOWN" in page.text("#lbs") and "DOWN" in page.text("#nodes")
    assert re.match(rf"In sync, 1 server DOWN since {CLOCK}", page.text("#say")) and re.search(rf"worker-2 since {CLOCK}", page.text("#say"))
    assert page.value("document.title").startswith("In sync, 1 server DOWN")
    scene.haproxy.runtime("set server be/worker-1 health down")
    page.wait_text("#say", "In sync, but no server is UP")
    assert page.value("document.getElementById('now').className") == "now bad" and page.text(".lb .count") == "0 of 2 UP"
    for name in ("worker-1", "worker-2"):
        scene.haproxy.runtime(f"set server be/{name} health up")
    page.wait("document.querySelectorAll('.lb li.live').length === 2")
    assert page.text(".lb .count") == "2 of 2 UP" and re.match(rf"In sync since {CLOCK}", page.text("#say"))
    quiet(page, page_url(daemon))


def test_trouble_shows_and_a_lost_connection_comes_back(scene: Scene, page: Page) -> None:
    daemon = scene.play(RESYNC_PERIOD="1s")
    look(page, daemon)
    page.value(MARK)
    scene.dataplane.stop()
    page.wait_text("#say", "Out of sync")
    page.wait_text("#say", f"target {daemon.env['HAPROXY_DATAPLANE_URL']} backend be: ")
    assert page.value("document.title").startswith("Out of sync")
    assert re.match(rf"Out of sync since {CLOCK}\n", page.text("#say")) and "What to do: " in page.text("#say")
    page.wait_text(".lb header", "does not answer, as of ")
    assert page.value("[...document.querySelectorAll('.lb li')].map(li => li.className).join()") == "out", "what it had is grey"
    assert page.value("document.querySelector('.lb li').innerText").endswith(("UP", "live")) and not page.text(".lb .count")  # live: it ended while HAProxy was read
    assert re.search(rf"(UP|live) as of {CLOCK}", page.text("#nodes")) and "not known" in page.text("#figures")
    scene.dataplane.start()
    page.wait_text("#say", "In sync")
    page.wait("document.querySelectorAll('.lb li.live').length === 1")
    daemon.stop()
    page.wait_text("#link", "connection lost")
    page.wait_text("#say", "Connection lost")
    assert re.fullmatch(rf"connection lost, as of {CLOCK}", page.text("#link")) and "as of " in page.text("#say")
    assert "worker-1" in page.text("#nodes"), "what was known last stays"
    scene.on(1, 3)
    daemon.start()
    page.wait_text("#link", "connected")
    page.wait_text("#say", "In sync")
    wait_rows(page, {"worker-1": "live", "worker-3": "live"})
    assert page.value("window.sameDocument"), "the page was loaded again"
    assert not page.value("document.body.classList.contains('lost')")


def test_what_is_wrong_is_red_in_its_place_and_said_to_its_end(scene: Scene, page: Page) -> None:
    daemon = scene.play()
    look(page, daemon)
    scene.kube.put(objects.service(SERVICE, namespace=NAMESPACE, node_ports={f"a-rather-long-name-{i}": (80 + i, 30080 + i) for i in (1, 2)}))
    page.wait_text("#say", "Out of sync")
    page.wait_text("#say .wrongs .bad", "has 2 ports (")
    colour = "getComputedStyle(document.querySelector('{}')).color"
    page.wait(f"{colour.format('#say .wrongs .bad b')} !== {colour.format('#say .wrongs .bad')}")
    edge = "document.querySelector('.flow {}').getBoundingClientRect().{}"
    page.wait_text("#flows .rows", "has 2 ports (")
    assert page.value(edge.format(".rows .box span", "right")) < page.value(edge.format(".lbs", "left")), "one lies over the other"
    fits(page)

    daemon.stop()
    scene.kube.put(objects.service(SERVICE, namespace=NAMESPACE))
    scene.kube.forbid("leases")
    daemon.env["LEADER_ELECT"] = "true"
    daemon.start()
    page.wait_text("#say", "; deploy/rbac.yaml grants it")
    page.wait_text("#lbs", "managed by the leading replica")


def test_a_connection_that_says_nothing_is_made_anew(calm: Daemon, page: Page) -> None:
    """No end of it was seen, as when a laptop has slept; beats come every 15 s, and none for 40 s are too few."""
    look(page, calm)
    page.value("seen -= 41000")

    def asked() -> int:
        return sum(e["request"]["url"].endswith("/status/stream") for e in page.events("Network.requestWillBeSent"))

    wait_until(lambda: asked() == 2, 20, "a second stream")
    page.wait_text("#link", "connected")


def test_what_others_chose_is_shown_as_text(scene: Scene, page: Page) -> None:
    """A node's name that is markup and turns text around, a reason that is as long as they get, words of HAProxy's that are."""
    daemon = scene.play(RESYNC_PERIOD="1s")
    name = HOSTILE + "x" * 200
    scene.kube.put(objects.node(name, "10.20.0.66"), objects.slice_(f"{SERVICE}-x7k2p", SERVICE, [
        objects.endpoint("10.244.1.7", "worker-1"), objects.endpoint("10.244.9.9", name)], namespace=NAMESPACE))
    page.size(PHONE, 740, mobile=True)
    look(page, daemon)
    page.wait_text("#nodes", "<img src=x onerror=hacked=1>\\u{202e}xxx")
    scene.dataplane.fault({"method": "GET", "path": r"/configuration/backends/be\b", "action": "answer", "status": 500,
                           "body": {"code": 500, "message": f"\u2067 {'y' * 2048}"}, "times": 0})
    page.wait_text("#say", "Out of sync")
    page.wait_text("#say", "\\u{2067} yyy")
    assert page.value("document.querySelectorAll('img').length") == 0 and page.value("typeof hacked") == "undefined"
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", page.value("document.documentElement.outerHTML"))
    fits(page)
    quiet(page, page_url(daemon))


def test_the_policy_would_stop_it_all_the_same(calm: Daemon, page: Page) -> None:
    """Not that the page does so: what if it did?"""
    look(page, calm)
    tried = page.value("""(() => { try { document.body.innerHTML = '<img src=x onerror="hacked=1">'; return 'markup'; }
        catch (e) { return e.name; } })()""")
    assert tried == "TypeError", "trusted types keep strings from becoming markup"
    assert page.value("fetch('http://127.0.0.2:9/').then(() => 'sent', e => e.name)") == "TypeError"
    assert any("Content Security Policy" in text for text in page.complaints())


# --- for readers, keyboards and eyes

def test_what_assistive_technology_gets(calm: Daemon, page: Page) -> None:
    look(page, calm)
    wait_rows(page, {f"worker-{i}": "live" for i in (1, 2, 3)})
    tree = page.tree()
    roles = {role for role, _ in tree}
    assert {"banner", "main", "contentinfo", "status", "table", "list"} <= roles, roles
    assert [name for role, name in tree if role == "heading"][0] == "haproxy-k8s-sync"
    assert page.value("[...document.querySelectorAll('h2')].filter(e => e.checkVisibility()).map(e => e.textContent)") == [
        "From Service to server", "HAProxies", "Nodes", "History", "Details"]
    assert {name for role, name in tree if role == "region"} >= {"From Service to server", "Nodes", "HAProxies", "History"}
    assert ("searchbox", "Filter the nodes") in tree
    assert {name for role, name in tree if role == "columnheader"} >= {"Node", "State", "Address", "In HAProxy", "Why"}
    assert {name for role, name in tree if role == "rowheader"} >= {"worker-1", "worker-2"}
    assert ("group", "backend be") in tree
    said = page.value("document.querySelector('[aria-live]').id + document.querySelectorAll('[aria-live]').length")
    assert said == "say1", "only the status line speaks by itself"
    flow = page.value("document.querySelector('.flow').textContent")
    assert "worker-1, live" in flow, "a state is a word, not a colour alone"
    unnamed = [(role, name) for role, name in tree if role in ("link", "button", "searchbox", "table", "region") and not name]
    assert not unnamed, unnamed


def test_keyboard_and_filter(scene: Scene, page: Page) -> None:
    daemon = scene.play()
    scene.on(1, 2, 3)
    look(page, daemon)
    wait_rows(page, {f"worker-{i}": "live" for i in (1, 2, 3)})
    focused = []
    for _ in range(6):
        page.press("Tab", 9)
        focused.append(page.value("document.activeElement.id || document.activeElement.textContent"))
    assert focused[0] == "To the content" and "filter" in focused, focused
    page.value("document.getElementById('filter').focus()")
    page.type("WORKER-2 live")
    page.wait("[...document.querySelectorAll('#nodes tbody tr')].filter(r => !r.hidden).length === 1")
    assert rows(page) == {"worker-2": "live"} and page.text("#shown").startswith("1 of 3")
    scene.on(1, 2, 3, 4)  # what comes meanwhile leaves what was typed and where the keyboard is
    page.wait_text("#shown", "1 of 4")
    assert page.value("document.activeElement.id") == "filter" and page.value("document.activeElement.value") == "WORKER-2 live"


# Of every text that is to be seen: its colour against what is behind it (WCAG 2.2, 1.4.3).
CONTRAST = """(() => {
  const part = c => (c /= 255) <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
  const parse = s => { const c = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    c.fillStyle = s; c.fillRect(0, 0, 1, 1); return [...c.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => .2126 * part(r) + .7152 * part(g) + .0722 * part(b);
  const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255]; };
  const bad = [];
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility() || e.closest('svg, script, style, noscript, .vh, .skip')) continue;
    const s = getComputedStyle(e), a = light(parse(s.color)), b = light(behind(e)), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    const large = parseFloat(s.fontSize) >= 24 || (parseFloat(s.fontSize) >= 18.66 && s.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) bad.push(e.textContent.slice(0, 40) + ' ' + ratio.toFixed(2));
  }
  return bad;
})()"""


def readable(page: Page) -> None:
    for scheme in ("light", "dark"):
        page.prefer(color_scheme=scheme, reduced_motion="reduce")
        assert page.value(CONTRAST) == []


def everywhere(page: Page, *shown: dict[str, Any]) -> None:
    """Each of these fits into every width; the last one can be read by day and by night, and stays."""
    for one in shown:
        page.value(f"show({json.dumps(one)})")
        for width in (1280, 900, 821, 820, 600, PHONE):
            page.size(width, 800, mobile=width == PHONE)
            fits(page)
    readable(page)


def multiplied(page: Page, nodes: int) -> dict[str, Any]:
    """What the page shows, as if there were so many nodes."""
    d = dict(page.value("last"))
    made = [{**d["backends"][0]["nodes"]["list"][0], "name": f"worker-{i}", "state": "draining" if i % 50 == 7 else "live"}
            for i in range(1, min(nodes, 500) + 1)]
    draining = sum(n["state"] == "draining" for n in made)
    d["backends"][0]["nodes"] = {"live": nodes - draining, "draining": draining, "out": 0, "spare": 0, "listed": len(made), "list": made}
    for haproxy in d["haproxies"]:
        servers = [{**haproxy["backends"][0]["servers"]["list"][0], "name": n["name"], "state": n["state"]} for n in made]
        haproxy["backends"][0]["servers"].update({"live": nodes - draining, "draining": draining, "listed": len(servers), "list": servers})
    return d


def test_every_size_every_state_light_and_dark(calm: Daemon, page: Page) -> None:
    """One node, a dozen, hundreds, thousands; trouble and the rest: nothing is cut off, everything can be read."""
    look(page, calm)
    page.value("source.close(); clearInterval(ticking)")
    for nodes in (1, 12, 60, 5000):
        shown = multiplied(page, nodes)
        shown["state"] = {1: "in_sync", 12: "problem", 60: "removal_delayed", 5000: "standby"}[nodes]
        shown["backends"][0].update(state="empty" if nodes == 60 else "ok", problem="x" * 400 if nodes == 60 else None)
        shown["haproxies"][0].update(answers=nodes != 12, as_of=shown["started_at"] if nodes == 12 else None)
        for width in (2560, 1920, 1280, 900, 821, 820, 600, PHONE):
            page.size(width, 800, mobile=width == PHONE)
            page.value(f"show({json.dumps(shown)})")
            fits(page)
            assert f"{nodes:,}".split(",")[0] in page.text("#flows")
        readable(page)
        page.prefer()
    assert "3 of 500 listed, of 5,000" in page.text("#shown")
    page.size(1280, 800)
    page.wait_text("#shown", "30 of 500 listed, of 5,000")
    page.value("document.getElementById('more-nodes').click()")
    assert len(rows(page)) == 500
    assert page.value("document.querySelectorAll('.flow path').length") < 50, "lines are bundled"
    assert page.complaints() == []


def test_nothing_moves_where_less_motion_is_asked_for(calm: Daemon, page: Page) -> None:
    page.prefer(reduced_motion="reduce")
    look(page, calm)
    assert page.value("""(() => { const e = document.createElement('p'); e.className = 'fresh'; document.body.append(e);
        return getComputedStyle(e).animationName; })()""") == "none"


def test_without_scripts_it_says_where_to_read(calm: Daemon, page: Page) -> None:
    page.scripts(False)
    page.open(page_url(calm))
    wanted = {("link", "/readyz"), ("link", "/status")}
    found: set[tuple[str, str]] = set()
    while not wanted <= found:  # a script that waits cannot be run
        found = set(page.tree())
    page.scripts(True)
    assert page.value("[...document.querySelectorAll('footer a')].every(a => a.href.startsWith(location.origin))")


# --- as it is drawn

def test_screenshots(tmp_path: pathlib.Path, page: Page) -> None:
    """Of a morning with two HAProxies, to build/; with RENEW_SCREENSHOTS=1 to docs/."""
    with Scene(tmp_path, haproxies=2) as scene:
        daemon = scene.play(DRAIN_TIMEOUT="30m", PARK_TTL="10m")
        scene.morning()
        look(page, daemon)
        wait_rows(page, {"worker-1": "live", "worker-2": "live", "worker-3": "live", "worker-4": "draining", "worker-5": "out", "worker-6": "out"})
        page.wait("document.querySelectorAll('#history li').length >= 12")
        page.wait("!document.getAnimations().length", "nothing to move any more")
        page.value("source.close(); clearInterval(ticking); show({...last, cluster: 'prod-east'}); skew -= 75000; grow()")  # as it is a little later
        page.wait("!document.getAnimations().length", "nothing to move any more")
        shots = ROOT / "build" / "status-page"
        page.screenshot(shots / "status-page.png")
        page.prefer(color_scheme="dark")
        page.screenshot(shots / "status-page-dark.png")
        page.prefer()
        page.size(PHONE, 740, mobile=True)
        page.screenshot(shots / "status-page-phone.png", 1500)
        page.screenshot(shots / "status-page-phone-whole.png", 2500)
        assert page.value("document.documentElement.scrollHeight") <= 2500
        fits(page)
        quiet(page, page_url(daemon))
        trouble(scene, page, shots / "status-page-trouble.png")
    for shot in ("status-page.png", "status-page-dark.png", "status-page-phone.png", "status-page-trouble.png"):
        keep(shots / shot)


def trouble(scene: Scene, page: Page, shot: pathlib.Path) -> None:
    """A HAProxy does not answer, and the other one calls a server DOWN; on a wide screen."""
    scene.daemon.stop()
    scene.play(RESYNC_PERIOD="1s", DRAIN_TIMEOUT="30m", PARK_TTL="10m")
    page.size(1920, 1000)
    look(page, scene.daemon)
    scene.haproxy.runtime("set server be/worker-2 health down")
    page.wait_text("#say", "1 of 3 servers DOWN")
    scene.pairs[1].dataplane.stop()
    page.wait_text("#say", "does not answer")
    page.value("source.close(); clearInterval(ticking); show({...last, cluster: 'prod-east'})")
    page.wait("!document.getAnimations().length", "nothing to move any more")
    fits(page)
    page.screenshot(shot, 1030)


def keep(shot: pathlib.Path) -> None:
    assert shot.stat().st_size > 20_000
    if os.environ.get("RENEW_SCREENSHOTS"):
        small = shrink(shot.read_bytes())
        assert len(small) < 150_000, f"{shot.name}: {len(small)} bytes are too many for the repository"
        (ROOT / "docs" / shot.name).write_bytes(small)


def alone(page: Page, section: str, name: str) -> pathlib.Path:
    """A picture of it without all else."""
    shot = ROOT / "build" / "status-page" / f"{name}.png"
    page.value(f"for (const e of document.querySelectorAll('main section:not([aria-labelledby=h-{section}])')) e.hidden = true")
    page.size(1280, 600)
    page.screenshot(shot)
    return shot


def hashed(balancer: FileBalancer) -> str:
    return hashlib.sha256(balancer.source.read_bytes()).hexdigest()[:12]


def test_a_whole_configuration(page: Page) -> None:
    """One that HAProxy runs and one that it refuses; nothing is shown of servers, which there are none of."""
    with FileBalancer() as balancer:
        balancer.daemon.start()
        balancer.daemon.wait_ready()
        page.open(f"http://127.0.0.1:{balancer.daemon.port}/")
        page.wait_text("body", "runs " + hashed(balancer))
        good = hashed(balancer)
        balancer.edit("  timeout connect 2s\n", "  timeout connect 2s\n  timout check 1s\n")
        line = balancer.source.read_text().splitlines().index("  timout check 1s") + 1
        page.wait_text("#say", f"rejected: line {line}: unknown keyword 'timout'")
        page.wait_text("body", "rejected: " + hashed(balancer))
        assert f"runs {good} since " in page.text("body")
        assert "What to do: Correct it at its source; HAProxy goes on with the last configuration that ran." in page.text("#say")
        facts = page.text("#facts")
        assert "Leader" in facts and "Watches" not in facts and "Loss limit" not in facts
        heads = page.value("[...document.querySelectorAll('#lbs th[scope=col]')].map(e => e.textContent)")
        assert heads == ["HAProxy", "State", "Configuration", "Reload"]
        waits = """{configuration: {state: "valid", sha256: "f00d", runs: "", paused: true, failure: "ConnectionError", next_try: "2026-01-02T03:04:05Z",
                   rolled_back_to: 7, source: "Secret a/b"}}"""
        said = page.value(f"(() => {{ const all = document.createElement('div'); all.append(...configuration({waits})); return all.innerText; }})()")
        assert re.fullmatch(r"valid: f00d.*paused by its source.*ConnectionError, next try 2 Jan .*:04.*rolled back to version 7.*Secret a/b", said), said


# --- templates

def lagging(page: Page) -> dict[str, Any]:
    """What the page shows, as if there were three HAProxies, the second of which runs something older."""
    d: dict[str, Any] = json.loads(json.dumps(page.value("last")).replace("<img src=x onerror=hacked=1>", "no-host"))
    d["haproxies"] = [json.loads(json.dumps({**d["haproxies"][0], "url": f"http://lb-{name}.example:5555"})) for name in "abc"]
    behind = d["haproxies"][1]
    behind["configuration"].update(state="new", runs="0123456789abcdef" * 4)
    summary = "target http://lb-b.example:5555 configuration: not validated yet: connection refused"
    name, reason = summary.split(": ", 1)
    d["checks"].append({"name": name, "state": "fail", "reason": reason, "hint": None, "since": d["generated_at"]})
    return {**d, "state": "problem", "since": d["generated_at"], "summary": summary, "haproxies": [d["haproxies"][0], {**behind, "state": "problem", "text": "connection refused"}, d["haproxies"][2]]}


def test_templates(tmp_path: pathlib.Path, page: Page) -> None:
    """Resources, the render, HAProxies: all well, an object left out, a template that fails, a resource that may not be read, one HAProxy behind."""
    with TemplateScene(tmp_path) as scene:
        look(page, scene.daemon)
        scene.kube.put(scene.ingress("<img src=x onerror=hacked=1>"), scene.ingress("shop-9", "shop-9.example"))
        page.wait_text("#set", "1 left out")
        page.wait_text("#set", "hosts.map +")
        rows = page.value("[...document.querySelectorAll('#set .flow > div:first-child li')].map(li => li.innerText.split('\\n')[0])")
        assert rows == ["ingresses", "services", "secrets"] and page.value("document.querySelectorAll('#set .flow path').length") == 4
        assert "left out" in page.text("#set .said") and "it has no host" in page.text("#set .said")
        assert "runs " + hashlib.sha256(scene.haproxy.config.read_bytes()).hexdigest()[:12] in page.text("#set")
        fits(page)

        scene.write(scene.good.replace("backend of-templates", "backend of-templates # {{ resources.nothing }}"))
        page.wait("document.querySelector('#set .wrong code')?.innerText.includes('# {{ resources.nothing }}')")
        assert re.search(r"haproxy\.cfg:\d+:\d+: ", page.text("#set .wrong")) and "the last good one" in page.text("#set")
        scene.write(scene.good)
        page.wait("!document.querySelector('#set .wrong')")
        page.wait_text("#set", "corrected since")

        scene.kube.forbid("services")
        scene.daemon.stop()
        scene.daemon.start()
        page.wait_text("#set", "refused, 0 objects")
        assert page.value("document.querySelector('#set li').innerText").startswith("services"), "trouble comes first"
        scene.kube.forbid()
        page.wait_text("#set", "3 objects")
        assert page.value("document.querySelectorAll('img').length") == 0 and page.value("typeof hacked") == "undefined"

        page.value("source.close(); clearInterval(ticking)")
        page.value(f"show({json.dumps(lagging(page))})")
        targets = page.value("[...document.querySelectorAll('#set .flow > div:nth-child(3) li')].map(li => li.innerText.replace(/\\s+/g, ' '))")
        assert targets[0].startswith("lb-b.example:5555 new runs 0123456789ab to come: ") and [t.split()[1:3] for t in targets[1:]] == [["in", "sync"]] * 2
        shot = alone(page, "set", "status-page-templates")
        keep(shot)
        everywhere(page, page.value("last"))
        page.value("(d => { d.templates.watches[1].removal_delayed = 2; show(d) })(structuredClone(last))")
        assert "2 removals delayed" in page.text("#set .flow li"), "trouble comes first"
        assert "Removals of services delayed" in page.text("#say .wrongs .drain")
        page.value("show({...last, templates: null})")
        assert not page.value("document.getElementById('set').checkVisibility()"), "nothing is shown where there are none"


# --- annotated Services

def test_services(tmp_path: pathlib.Path, page: Page) -> None:
    """Frontends with their host names, what is left out and why; hundreds of them; none."""
    with ServicesScene(tmp_path) as scene:
        look(page, scene.daemon)
        page.wait_text("#served", "9 Services: 6 ports served, 3 not")
        cards = page.value("[...document.querySelectorAll('#services .lb')].map(card => card.innerText.replace(/\\s+/g, ' '))")
        assert len(cards) == 3 and f"*:{scene.https} HTTPS api.example.com Service shop/api, port web shop.example.com/cart Service shop/cart, port web shop.example.com " in " ".join(cards)
        assert f"*:{scene.tcp} TCP every connection Service shop/database, port web" in cards
        said = page.value("[...document.querySelectorAll('#services .said li')].map(li => li.innerText.replace(/\\s+/g, ' '))")
        assert [line.split()[:3] for line in said] == [["not", "served", "shop/bad:"], ["not", "served", "shop/copy:"], ["not", "served", "shop/later:"], ["no", "effect", "shop/typo:"]], said
        assert "Secret shop/later: it does not exist" in said[2] and page.value("document.querySelectorAll('img').length") == 0
        scene.on("api", objects.NOT_READY)
        page.wait_text("#say", "In sync, 1 backend without endpoint since ")
        assert page.value("document.getElementById('now').className") == "now bad" and "1 backend of annotated Services without a usable endpoint" in page.text("#say")
        scene.on("api", objects.READY)
        page.wait("document.getElementById('now').className === 'now live'")
        assert "What to do: Correct their annotations" in page.text("#say .wrongs .drain")
        scene.kube.delete(scene.service("bad", 8))
        page.wait_text("#served", "8 Services: 6 ports served, 2 not")
        quiet(page, page_url(scene.daemon))

        page.value("source.close(); clearInterval(ticking)")
        page.value("(d => { d.services.removal_delayed = 2; Object.assign(d.services.remark_list.at(-1), { as_before: true, text: 'as it was' }); Object.assign(d.checks.find(c => / configuration$/.test(c.name)), "
                   "{ state: 'warn', reason: 'applied: HAProxy does not answer any more' }); show(d) })(structuredClone(last))")
        wrong = page.value("[...document.querySelectorAll('#say .wrongs > li')].map(li => li.className + ' ' + li.innerText.replace(/\\s+/g, ' '))")
        assert len(wrong) == 4 and "HAProxy does not answer any more" in wrong[0] and wrong[0].startswith("bad "), wrong
        assert any("2 backends of annotated Services with removals delayed" in w for w in wrong) and any("shop/typo: as it was" in w for w in wrong), wrong
        assert "as before shop/typo:" in page.value("document.querySelector('#services .said').innerText.replace(/\\s+/g, ' ')")
        many = json.loads(json.dumps(page.value("last")))
        route = {"host": "a" * 60 + ".example.com", "path": "/" + "b" * 200, "service": "team/" + "c" * 60, "port": "web", "backend": None, "redirect": "https://" + "a" * 60 + ".example.com"}
        many["services"].update(frontend_count=40, problem="none of them can be served",
                                frontends=[{"address": "fd00::1", "port": n, "mode": "http", "tls": False, "route_count": 30, "routes": [route] * 30} for n in range(30)])
        shot = alone(page, "services", "status-page-services")
        keep(shot)
        page.size(PHONE, 800, mobile=True)
        page.screenshot(shot.with_name("status-page-services-phone.png"))
        everywhere(page, page.value("last"), many)
        assert "and 16 frontends more" in page.text("#services")
        assert "and 18 more" in page.text("#services .lb") and "none of them can be served" in page.text("#services .wrong")
        page.value("show({...last, services: null})")
        assert not page.value("document.getElementById('services').checkVisibility()"), "nothing is shown where there are none"


def test_etcd(scene: Scene, page: Page) -> None:
    """A producer with load balancers: in sync, behind, failed; a thousand of them; hostile names; a load balancer's own page; none."""
    daemon = scene.play()
    look(page, daemon)
    page.wait_text("#link", "connected")
    page.value("source.close(); clearInterval(ticking)")
    seen = json.loads(json.dumps(page.value("last")))
    assert seen["etcd"] is None and not page.value("document.getElementById('etcd').checkVisibility()"), "nothing is shown where there is none"
    row = {"name": "lb-1", "state": "in_sync", "version": 7, "sha256": "0123456789abcdef" * 4, "reason": "", "since": seen["started_at"]}
    failed = {**row, "name": "<img src=x onerror=hacked=1>", "state": "failed", "version": 6, "reason": "[ALERT] parsing [dynamic.cfg:12] : unknown keyword 'servr' " * 5}
    balancers = {"in_sync": 1, "behind": 1, "failed": 1, "list": [failed, {**row, "name": "lb-3", "state": "behind", "version": 6}, row]}
    producer = {"role": "producer", "leading": True, "version": 7, "sha256": row["sha256"], "published_at": seen["started_at"], "problem": None, "load_balancers": balancers}
    seen.update(haproxies=[], backends=[], summary="in sync", state="in_sync")
    page.value(f"show({json.dumps({**seen, 'etcd': producer})})")
    said = page.text("#say")
    assert said.startswith("In sync, 2 load balancers not since ") and not page.value("document.getElementById('lbs').checkVisibility()")
    assert "1 of 3" in page.text("#figures") and page.value("document.getElementById('now').className") == "now bad"
    assert "The configuration is published." in said and "2 load balancers without the published configuration since " in said
    assert page.text("#published") == "version 7 is published; 3 load balancers, 1 behind, 1 failed"
    table = page.value("[...document.querySelectorAll('#etcd tbody tr')].map(tr => tr.innerText.replace(/\\s+/g, ' '))")
    assert len(table) == 3 and "failed" in table[0] and "unknown keyword" in table[0] and table[2].startswith("lb-1 in sync version 7 0123456789ab"), table
    assert page.value("document.querySelectorAll('img').length") == 0 and page.value("typeof hacked") == "undefined"
    shot = alone(page, "etcd", "status-page-etcd")
    page.size(PHONE, 800, mobile=True)
    page.screenshot(shot.with_name("status-page-etcd-phone.png"))
    many = {**producer, "problem": "/haproxy/east: the key has a value in etcd but no manifest below it", "load_balancers": {
        "in_sync": 1000, "behind": 0, "failed": 0, "list": [{**row, "name": f"lb-{i}." + "a" * 60 + ".example.com"} for i in range(500)]}}
    everywhere(page, {**seen, "etcd": producer}, {**seen, "etcd": many})
    assert "and 950 more" in page.text("#etcd") and "no manifest below it" in page.text("#etcd .wrong")
    page.value(f"show({json.dumps({**seen, 'etcd': {'role': 'load balancer', 'version': 7, 'problem': None}})})")
    assert page.text("#published") == "version 7 was read"
