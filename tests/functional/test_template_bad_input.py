"""Bad input for a daemon with templates: a set that is wrong is named with its place, and what runs stays; an object that is wrong is named, and
what is right goes on."""

from __future__ import annotations

import re
import shutil
from typing import Any

from tests.harness import http
from tests.harness.certificates import der, self_signed
from tests.harness.daemon import Daemon
from tests.harness.process import ROOT, free_port, wait_until

from .ingress_set import certificate_for, endpoint, endpoint_slice, ingress, ingress_class, rule, secret, service, web
from .test_template_source import SET, Site, setting, site

__all__ = ["site"]  # a fixture

# A file of the set each, and what is said of it.
WRONG = {
    "yaml": ({"set.yaml": SET + "extra: [\n"}, r"set\.yaml:\d+: invalid YAML"),
    "keep": ({"set.yaml": SET.replace("keep: [spec]", "keep: ['spec.rules[?(@.host)]']")}, r'set\.yaml:5: keep: path "spec\.rules\[\?\(@\.host\)\]": "\[\?\(@\.host\)\]" is no field'),
    "jinja": ({"haproxy.cfg.j2": "global\n{% for x in %}\n"}, r"haproxy\.cfg:2:\d+: syntax error.*the line: {% for x in %}"),
    "a gigabyte": ({"maps/a.map.j2": "{% for i in range(100000) %}{{ 'x' * 10000 }}{% endfor %}"}, r"the templates (gave|took) more than \d+ MB"),
    "certificate": ({"certificates/a.pem.j2": "no PEM"}, r"a\.pem"),
    "empty": ({"haproxy.cfg.j2": ""}, "empty"),
    "no base64": ({"haproxy.cfg.j2": "\n\n{% for s in resources.settings %}{{ s.data.say|b64decode }}{% endfor %}"},
                  r"haproxy\.cfg:3:\d+: b64decode: it is no base64; the line: .*the last object: ConfigMap here/s"),
}


def refused(daemon: Daemon, said: str) -> bool:
    page = daemon.get("/readyz")[1]
    assert re.search(rf"\[-\]configuration source: .*{said}", page), page
    return True


def test_a_set_that_is_wrong_changes_nothing(site: Site) -> None:
    with site.daemon() as daemon:
        site.await_says("a.example x y")
        wait_until(daemon.ready, 20, "ready")
        worker = site.haproxy.worker()
        for case, (files, said) in WRONG.items():
            before = {name: (site.set / name).read_text() for name in files if (site.set / name).exists()}
            for name, text in reversed(files.items()):
                site.write(name, text)
            wait_until(lambda: refused(daemon, said), 20, f"{case}: {said}")
            assert site.says() == "a.example x y", case
            for name in files:
                site.write(name, before[name]) if name in before else (site.set / name).unlink()
            wait_until(daemon.ready, 20, f"{case}: ready again")
        assert site.haproxy.worker() == worker


def remarks(site: Site) -> dict[str, str]:
    """From what they are about to what they say."""
    return {item["involvedObject"]["name"]: item["message"] for item in site.kube.state()["items"] if item["kind"] == "Event"}


def test_large_objects_and_odd_names(site: Site) -> None:
    """What a name says is data wherever it goes: in haproxy.cfg, in the log, in an Event. One that no API server lets in is left out."""
    odd = ['a"b', "it's", "100%d %s", "{{ fail('x') }}", "back\\slash", "#no comment", "ünï", "$HOME `id`"]
    says = "{% for c in resources.settings %}{{ c.data.say|length }} {% if c.metadata.name != 's' %}{{ event(c, 'named ' ~ c.metadata.name) }}{% endif %}{% endfor %}"
    more = "{% for c in resources.settings %}\nbackend {{ c.metadata.name|sanitize }}\n  acl named path -m str -- {{ c.metadata.name|haproxy }}\n{% endfor %}\n"
    site.write("haproxy.cfg.j2", site.template(says) + more)
    site.kube.put(setting("s", "here", say="x" * 1_500_000))
    with site.daemon() as daemon:
        site.await_says("1500000 1")
        site.kube.put(setting("s", "here", say="y" * 1_400_000))
        site.await_says("1400000 1")
        site.kube.put(*(setting(name, "here", say="odd") for name in [*odd, "two\nlines"]))
        wait_until(lambda: sorted(site.says().split()) == sorted(["1400000", "1", *["3"] * len(odd)]), 20, "all but that of two lines")
        wait_until(daemon.ready, 20, "ready")
        text = site.haproxy.config.read_text()
        assert "\nbackend ___fail__x_____\n  acl named path -m str -- " in text and "two" not in text
        assert r'name (\"two lines\") has a control character' in daemon.log()
        wait_until(lambda: {name: f"named {name}" for name in odd}.items() <= remarks(site).items(), 20, "an Event on each")


def test_the_shipped_set_goes_on_without_what_is_bad(site: Site) -> None:
    shutil.rmtree(site.set)
    shutil.copytree(ROOT / "templates" / "ingress", site.set)
    tls, content = free_port(), (site.set / "set.yaml").read_text()
    for old, new in (('["*:80"]', f'["127.0.0.1:{site.haproxy.port}"]'), ('["*:443"]', f'["127.0.0.1:{tls}"]'), ("check inter 10s fastinter 1s downinter 2s", "no-check"),
                     ("/run/haproxy/admin.sock mode 660", f"{site.haproxy.socket} mode 600")):
        assert content.count(old) == 1
        content = content.replace(old, new)
    site.write("set.yaml", content)
    pair = self_signed(site.home, "good.example")
    bad = secret("bad", pair)
    bad["data"]["tls.key"] = "no base64!"

    def secured(name: str) -> dict[str, Any]:
        return ingress(name, rule(f"{name}.example", ("Prefix", "/", "web")), tls=[{"hosts": [f"{name}.example"], "secretName": name}], notes={"haproxy-k8s-sync/ssl-redirect": "false"})

    with web("one") as one:
        site.kube.put(ingress_class(), service("web"), endpoint_slice("web", endpoint("127.0.0.1"), port=one), secret("good", pair), bad, secured("good"), secured("bad"),
                      ingress("host", rule("{{ fail('x') }}", ("Prefix", "/", "web")), rule("host.example", ("Prefix", "/", "web"))),
                      ingress("none", rule("none.example", ("Prefix", "/", 'we"b\n  server x 192.0.2.1:1 #%d'))))

        def body(host: str) -> str:
            return http.request(f"http://127.0.0.1:{site.haproxy.port}", "GET", "/", headers={"Host": host}).text

        with site.daemon() as daemon:
            for host in ("good.example", "bad.example", "host.example"):
                wait_until(lambda: body(host) == "one", 20, f"{host} answers")
            assert "503" in body("none.example") and not re.search(r"^\s*server .*192\.0\.2\.", site.haproxy.config.read_text(), re.M)
            assert certificate_for(tls, "good.example") == der(pair.certificate)
            wait_until(daemon.ready, 20, "ready")
            said = wait_until(lambda: len(found := remarks(site)) >= 3 and found, 20, "an Event on each that is bad")
            assert set(said) == {"bad", "host", "none"}, said
            assert "TLS Secret default/bad: tls.crt and tls.key are not both there in base64" in said["bad"] and "is none" in said["host"] and "there is none of that name" in said["none"], said
