"""Names that the pages use, and where each of them has to exist: settings, metrics, alerts, messages, chart values, paths."""

from __future__ import annotations

import fnmatch
import functools
import re
from typing import Any

import yaml

from tests.harness.metrics import PREFIX

from .chart import readme
from .docs_blocks import ROOT
from .queries import families, known_metrics

CHART = ROOT / "charts" / "haproxy-k8s-sync"

# What looks like a setting and is none: signals, and words of HAProxy, systemd, the tests' own and other people's environment.
NO_SETTINGS = {"SIGHUP", "SIGTERM", "SIGKILL", "MAINT", "PROXY", "DOWN", "READY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "CHANGELOG", "PATH", "SECURITY",
               "CONTRIBUTING", "HELP", "TYPE", "HAPROXY_LOCALPEER", "HAPROXY_MWORKER_REEXEC", "HAPROXY_PROCESSES"}
# Variables of make targets; each has to be in Makefile or in what it includes or runs.
MAKE_VARIABLES = {"HAPROXY_SOURCE", "CLUSTERS", "TARGET", "RANDOM_FILES", "KEEP", "TIME", "EVENTS", "ONLY", "OTHER", "ROUNDS", "KIND", "SEED", "UNIT_ONLY", "SHARE", "API", "VERSION", "CK_FORK",
                  "DATAPLANEAPI", "K", "T", "V", "B", "RENEW_SETTINGS_PAGES", "RENEW_CHART", "RENEW_SCREENSHOTS", "SOURCE_DATE_EPOCH", "HAPROXY_K8S_SYNC",
                  "ROOM", "TIMES", "EFFORT", "EXPLORE", "RUNS"}
# What a unit test says of itself (tests/unit/test.h).
UNIT_TEST_WORDS = {"TEST", "TEST_EACH", "FIXTURE", "FORKED"}
# Words with an underscore that are HAProxy's, the Data Plane API's, Kubernetes' or a program's.
OTHERS_WORDS = {"maps_dir", "ssl_certs_dir", "general_storage_dir", "reload_delay", "reload_cmd", "master_worker_mode", "master_runtime",
                "tls_ca", "adv_check", "no_proxy", "http_proxy", "https_proxy", "url_param", "exported_cluster"}
# What the kernel and OpenSSL say, which the daemon hands on, and words of haproxy.cfg.
OTHERS_MESSAGES = {"Permission denied", "local issuer", "subject name", "jwt on", "stick on"}


@functools.cache
def sources() -> str:
    """All of the source's text, with string literals that follow each other as one, and without escapes."""
    text = "\n".join(path.read_text() for path in sorted([*ROOT.glob("src/**/*.[ch]"), *ROOT.glob("cmd/*/*.c")]))
    return re.sub(r'"\s*\\?\s*"', "", text).replace('\\"', '"')


@functools.cache
def settings() -> set[str]:
    """All variables, with the _FILE forms."""
    table = (ROOT / "docs" / "settings.md").read_text()
    names = {name for row in re.findall(r"^\| \[?(`.+?) \|", table, re.M) for name in re.findall(r"`([A-Z0-9_]+)`", row)}
    names |= set(re.findall(r"With MODE: ([A-Z0-9_]+)", (ROOT / "config.example.env").read_text())) | {"KUBE_APISERVER"}
    assert len(names) > 40
    return names


def metric_exists(name: str) -> bool:
    known = known_metrics()
    return name in known or PREFIX + name in known or PREFIX + name in families() or name in families()


@functools.cache
def alerts() -> set[str]:
    rules = yaml.safe_load((CHART / "alerts" / "haproxy-k8s-sync.yaml").read_text())
    return {rule["alert"] for group in rules["groups"] for rule in group["rules"]}


@functools.cache
def chart_values() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
    return loaded


def chart_value_exists(dotted: str) -> bool:
    whole = readme.schema()  # of an operator's names the chart has no defaults
    if any(path == dotted for path, _ in readme.leaves(whole, whole)):
        return True
    at: Any = chart_values()
    for key in dotted.split("."):
        # What is empty by default takes what Kubernetes knows (resources, affinity, ...).
        if at == {} or at == []:
            return True
        if not isinstance(at, dict) or key not in at:
            return False
        at = at[key]
    return True


@functools.cache
def python_of_the_tests() -> str:
    return "\n".join(path.read_text() for path in ROOT.glob("tests/chaos/*.py"))


def trouble_with_setting(word: str) -> str:
    """word: NAME or NAME=value, as it stands on a page."""
    name, _, value = word.partition("=")
    if name in settings() | NO_SETTINGS | MAKE_VARIABLES | UNIT_TEST_WORDS or re.search(rf"^{name}\b", python_of_the_tests(), re.M):
        return ""
    if name.startswith("_") and any(other.endswith(name) for other in settings()):
        return ""
    return f"there is no setting {name}"


@functools.cache
def ingress_values() -> set[str]:
    """Of the shipped template set `ingress`."""
    return set(yaml.safe_load((ROOT / "templates/ingress/set.yaml").read_text())["extra"])


def trouble_with_span(span: str) -> str:
    """What is wrong with a `span` of a page's prose; "" for nothing, also where it is of no kind that can be looked up."""
    word = span.strip()
    if re.fullmatch(r"_?[A-Z][A-Z0-9_]{3,}(=\S*)?", word):
        return trouble_with_setting(word)
    if found := re.fullmatch(r"([a-z]+(?:_[a-z0-9]+)+)(\{[^}]*\})?", word):
        known = metric_exists(found[1]) or found[1] in OTHERS_WORDS | ingress_values() or re.search(rf"\b{found[1]}\b", sources())
        return "" if known else f"{found[1]} is no metric, no key of a log line, and no word that tests/delivery/docs_names.py knows"
    if re.fullmatch(r"\w[\w./-]*/[\w.*/-]+", word) and (ROOT / word.split("/")[0]).is_dir() and "*" not in word and word.split("/")[0] != "build":
        return "" if (ROOT / word).exists() else f"there is no {word}"
    if re.fullmatch(r"[a-z]\w*(\.\w+)+", word) and word.split(".")[0] in chart_values() and not (ROOT / word).exists():
        return "" if chart_value_exists(word) else f"the chart has no value {word}"
    if re.fullmatch(r"HaproxyK8sSync\w+", word):
        return "" if word in alerts() else f"there is no alert {word}"
    return ""


@functools.cache
def files_of_the_tree() -> list[str]:
    return [str(file.relative_to(ROOT)) for folder in ("src", "cmd", "tests", "scripts", "docs", "deploy", "charts")
            for file in (ROOT / folder).rglob("*") if "__pycache__" not in file.parts]


def trouble_with_source(span: str) -> str:
    """As trouble_with_span, of CONTRIBUTING.md, which also names files from src/ on (`net/http.h`), modules (`kube/watch`), files without
    their folder, several by * or <what it stands for>, and types."""
    if found := re.fullmatch(r"((?:enum|struct) \w+)", span):
        return "" if re.search(rf"\b{found[1]}\b", sources()) else f"there is no {found[1]}"
    pattern = re.sub(r"<[^>]*>", "*", span)
    if not re.fullmatch(r"[\w.*-]+(/[\w.*-]+)+|[\w*-]+\.(c|h|py)", pattern) or pattern.startswith(("build/", ".ci/", "_")):
        return ""
    places = [pattern, f"src/{pattern}", f"src/{pattern}.[ch]"] if "/" in pattern else [f"*/{pattern}"]
    return "" if any(fnmatch.filter(files_of_the_tree(), place) for place in places) else f"there is no file {span}"


# What prose in backticks may begin with without being a message of the daemon's.
COMMANDS = ("dpkg ", "haproxy-k8s-sync", "kubectl", "helm", "make", "set server", "systemctl", "apt", "server ", "default-server", "openssl", "build/",
            "stats socket", "prepare map", "add map", "commit map", "set ssl cert", "commit ssl cert", "HTTP", "curl", "haproxy ", "scripts/", "/usr/bin/python3", "s6-", ".ci/", "int f(", "add server", "-W ", "ulimit",
            "URL ", "docker ", "adduser ", "state BACKUP", "man ", "tests/", "plan ", "explain ", "config ", "template ", "services ", "Mutant(", "monitor ", "git ", "fsGroup", "defaultMode", "bind ", "haproxy-k8s-sync/")


def trouble_with_message(span: str) -> str:
    """A span of several words that is neither a command nor a piece of a file is something that the daemon says."""
    span = re.sub(r"^(?:[A-Z_]+=\S* )+", "", span)
    if " " not in span or span in OTHERS_MESSAGES or span.startswith(COMMANDS) or not re.search(r"[a-z]{2} [a-z]{2}", span):
        return ""
    for piece in re.split(r"\s*\.\.\.\s*", span):
        if piece and piece.rstrip() not in sources():
            return f"the daemon never says {piece!r}"
    return ""
