"""What people type: flags of settings, help, misspelt words, check-config beside the daemon's start, and exit codes."""

from __future__ import annotations

import json
import pathlib
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.harness import objects
from tests.harness.daemon import Daemon, clean_env
from tests.harness.process import ROOT, free_port

from .rig import BY_NODE_PORT, NAMESPACE, SERVICE, SEVERAL, Rig, program
from .template_sets import CFG, make_set

LONGEST = 30  # s
NOWHERE = "127.0.0.1:1"
KUBECONFIG = ('{"current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],'
              '"clusters": [{"name": "a", "cluster": %s}], "users": [{"name": "a", "user": %s}]}')


def run(*words: str, env: dict[str, str], timeout: float = LONGEST) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([program(), *words], env=clean_env(**env), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)


def with_rig(rig: Rig, *words: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    return run(*words, env=rig.settings(LISTEN_ADDRESS=f"127.0.0.1:{free_port()}", **settings))


# --- flags

@pytest.mark.parametrize("words", [["plan", "--dry-run", "-o", "json"], ["--dry-run", "-o", "json", "plan"], ["-ojson", "plan", "--dry-run=true"]])
def test_a_flag_is_its_variable(rig: Rig, words: list[str]) -> None:
    rig.service()
    rig.pods(1, 2)
    assert json.loads(with_rig(rig, "plan", "-o", "json").stdout)["backends"][0]["verdict"] == "changes"
    done = with_rig(rig, *words, "--daemon=none")
    assert done.returncode == 2
    assert json.loads(done.stdout)["backends"][0]["verdict"] == "not_written"


def test_a_flag_is_stronger(rig: Rig) -> None:
    good = rig.settings()["KUBECONFIG"]
    for words in (["--kubeconfig", good, "check-config"], ["check-config", f"--kubeconfig={good}"]):
        assert with_rig(rig, *words, KUBECONFIG="/nonexistent").returncode == 0
    assert with_rig(rig, "check-config", "--kubeconfig=/nonexistent").returncode == 78


def test_the_daemon_has_the_flags(rig: Rig) -> None:
    rig.service()
    rig.pods(1, 2)
    daemon = rig.daemon = Daemon(rig.home / "daemon", rig.settings(LOG_LEVEL=""), program())
    daemon.flags = ["--dry-run", "-v"]
    daemon.start()
    daemon.wait_log("msg=started.* dry_run=true")
    daemon.wait_log("level=debug")
    daemon.wait_ready()
    assert not rig.writes()


def test_verbose_plan_says_more(rig: Rig) -> None:
    quiet, loud = with_rig(rig, "plan"), with_rig(rig, "plan", "-v")
    assert "level=debug" not in quiet.stderr and "level=debug" in loud.stderr


def test_check_config_says_where_from(rig: Rig) -> None:
    out = with_rig(rig, "check-config", "--dry-run", "-v", f"--kubeconfig={rig.settings()['KUBECONFIG']}").stdout
    assert "\nDRY_RUN=true  # by --dry-run\n" in out
    assert "\nLOG_LEVEL=debug  # by -v\n" in out
    assert re.search("^KUBECONFIG=.*  # by --kubeconfig$", out, re.M)
    assert "\nRESYNC_PERIOD=30s  # from the environment\n" in out


# --- as kubectl haproxy-sync

def test_a_link_makes_it_a_plugin_of_kubectl(rig: Rig, tmp_path: pathlib.Path) -> None:
    link = tmp_path / "kubectl-haproxy_sync"
    link.symlink_to(program())
    (tmp_path / ".kube").mkdir()
    settings = {**rig.settings(), "HOME": str(tmp_path)}
    (tmp_path / ".kube" / "config").write_text(pathlib.Path(settings.pop("KUBECONFIG")).read_text())
    rig.service()

    def kubectl(*words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([link, *words], env=clean_env(**{**settings, **more}), capture_output=True, text=True, timeout=LONGEST)

    assert kubectl().stdout == run("help", env={}).stdout, "kubectl starts no daemon"
    assert kubectl("explain", "n1").returncode == 0, "it is kubectl's own kubeconfig"
    assert kubectl("explain", "n1", KUBECONFIG="/nonexistent").returncode == 78, "unless another one is named"


# --- -o json

def test_check_config_as_json_is_what_it_prints(rig: Rig) -> None:
    for more in ([], ["--changed"]):
        env = rig.settings(LISTEN_ADDRESS=NOWHERE)
        text, found = run("check-config", *more, env=env).stdout, json.loads(run("check-config", "-o", "json", *more, env=env).stdout)
        place = re.escape(rig.dataplane.url)
        printed = [re.fullmatch(r"([A-Z0-9_]+)=(.*)  # (.*)", line) for line in text.splitlines() if line[0] != "#"]
        assert [(s["name"], s["value"], s["from"]) for s in found["settings"]] == [line.groups() for line in printed if line]
        assert found["remarks"] == [line[2:] for line in text.splitlines() if line[0] == "#"] and (more or re.search(place, str(found["remarks"])))
    assert {"name": "HAPROXY_DATAPLANE_PASSWORD", "value": "***", "from": "from the environment"} in found["settings"]


def test_version_as_json() -> None:
    found, text = json.loads(run("version", "-o", "json", env={}).stdout), run("--version", env={}).stdout
    assert set(found) == {"version", "commit", "templates"} and found["templates"] is True
    assert text.startswith(f"haproxy-k8s-sync {found['version']}") and (found["commit"] is None or found["commit"] in text)


def test_services_as_json(tmp_path: pathlib.Path) -> None:
    with Rig(tmp_path, SEVERAL) as rig:
        made = objects.service("shop", namespace="shop", node_ports={"web": (80, 30090)},
                               annotations={"haproxy-kubefigurator.web.listen-port": "19090", "haproxy-kubefigurator.web.use-ssl": "false",
                                            "haproxy-kubefigurator.web.hostname": "a.example.com", "haproxy-kubefigurator.web.frobnicate": "1"})
        made["metadata"]["labels"] = {"haproxy-kubefigurator.enabled": "yes"}
        rig.kube.put(made)
        env = {"KUBECONFIG": rig.settings()["KUBECONFIG"], "CONFIG_SOURCE": "services", "CONFIG_TARGET": "etcd", "ETCD_ENDPOINTS": "http://127.0.0.1:1", "CLUSTER_NAME": "east"}
        text, done = run("services", "view", env=env), run("services", "view", "-o", "json", env=env)
        found = json.loads(done.stdout)
        assert found["configuration"] == text.stdout and found["problem"] is None and not done.stderr and done.returncode == 0
        assert [f"no effect: Service {r['namespace']}/{r['service']}: {r['text']}" for r in found["remarks"] if r["served"]] == text.stderr.splitlines() != []
        words = ("services", "explain", "shop/shop")
        assert json.loads(run(*words, "-o", "json", env=env).stdout) == {"service": "shop/shop", "lines": run(*words, env=env).stdout.splitlines()}


def test_explain_as_json(rig: Rig) -> None:
    rig.service()
    rig.pods(1, 2)
    done = with_rig(rig, "explain", "n1", "-o", "json")
    backend, = json.loads(done.stdout)["backends"]
    text = " ".join(with_rig(rig, "explain", "n1").stdout.split())
    assert done.returncode == 0 and (backend["state"], backend["known"], backend["is_node"]) == ("live", True, True)
    haproxy, = backend["haproxies"]
    assert haproxy["url"] == rig.dataplane.url and [line["about"] for line in haproxy["lines"]][-1] == "next"
    for said in [backend["verdict"], *(rule["text"] for rule in backend["rules"]), *(line["text"] for line in haproxy["lines"])]:
        assert " ".join(said.split()) in text, said
    unknown = with_rig(rig, "explain", "n99", "-o", "json")
    assert unknown.returncode == 1 and json.loads(unknown.stdout)["known"] is False and "n99 is unknown" in unknown.stderr


def test_only_what_is_changed(rig: Rig) -> None:
    out = with_rig(rig, "check-config", "--changed", LOG_LEVEL="info", PARK_TTL="1h", DRAIN_TIMEOUT="31s").stdout
    names = re.findall("^([A-Z_]+)=", out, re.M)
    assert {"HAPROXY_BACKEND_NAME", "DRAIN_TIMEOUT", "INGRESS_NAMESPACE", "HAPROXY_DATAPLANE_PASSWORD"} <= set(names)
    assert not {"LOG_LEVEL", "PARK_TTL", "RESYNC_PERIOD", "DRY_RUN", "IP_FAMILY"} & set(names), "these are at their defaults, in other words perhaps"
    assert "adminpwd" not in out and "#" in out and not re.search("^#", out, re.M)


# --- help, and words that there are not

def test_help_fits_a_screen() -> None:
    said = [run(*words, env={}) for words in (["--help"], ["help"], ["-h"])]
    assert {done.returncode for done in said} == {0} and len({done.stdout for done in said}) == 1
    lines = said[0].stdout.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert "DRAIN_TIMEOUT" not in said[0].stdout


def test_help_settings() -> None:
    whole = run("--help", "settings", env={})
    assert whole.returncode == 0 and whole.stdout == run("help", "settings", env={}).stdout
    assert "  DRAIN_TIMEOUT\n" in whole.stdout and "  DRY_RUN\n" in whole.stdout
    assert run("help", "settings", "DRAIN_TIMEOUT", env={}).stdout.startswith("  DRAIN_TIMEOUT\n")
    wrong = run("help", "settings", "DRAIN_TIMEUT", env={})
    assert wrong.returncode == 64 and "did you mean DRAIN_TIMEOUT?" in wrong.stderr


def test_version() -> None:
    assert run("version", env={}).stdout == run("--version", env={}).stdout != ""


@pytest.mark.parametrize("words, says", [
    (["plna"], 'unknown command "plna"; did you mean "plan"?'), (["config", "aply"], 'did you mean "config apply"?'), (["help", "doktor"], 'did you mean "doctor"?'),
    (["--dry-rnu"], 'unknown flag "--dry-rnu"; did you mean "--dry-run"?'), (["plan", "--kubeconfg=/k"], 'did you mean "--kubeconfig"?'),
    (["plan", "--colr=never"], 'did you mean "--color"?'), (["copy-to", "-o", "json", "f"], "copy-to prints text only"),
    (["--namespace=x", "plan"], "is used only with --mode"), (["copy-to", "--dry-run", "/tmp"], "--dry-run has no effect")])
def test_unknown_words_name_the_nearest(words: list[str], says: str) -> None:
    done = run(*words, env={})
    assert done.returncode == 64 and says in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


# --- check-config fails where the daemon fails

Spoil = Callable[[pathlib.Path], dict[str, str]]


def written(path: pathlib.Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def kubeconfig(home: pathlib.Path, cluster: str = '{"server": "http://127.0.0.1:1"}', user: str = "{}") -> dict[str, str]:
    return {"KUBECONFIG": written(home / "kubeconfig", KUBECONFIG % (cluster, user))}


def https(home: pathlib.Path, **more: str) -> dict[str, str]:
    return {"HAPROXY_DATAPLANE_URL": "https://127.0.0.1:1", **more}


def etcd(home: pathlib.Path, **more: str) -> dict[str, str]:
    return {"CONFIG_TARGET": "etcd", "CONFIG_SOURCE": "file", "CONFIG_FILE": written(home / "h.cfg", "global\n"), "ETCD_ENDPOINTS": "https://127.0.0.1:1",
            "INGRESS_NAMESPACE": "", "INGRESS_SERVICE_NAME": "", "HAPROXY_BACKEND_NAME": "", "HAPROXY_DATAPLANE_URL": "",
            "HAPROXY_DATAPLANE_USERNAME": "", "HAPROXY_DATAPLANE_PASSWORD": "", **more}


def file_source(home: pathlib.Path, **more: str) -> dict[str, str]:
    return {"CONFIG_SOURCE": "file", "CONFIG_FILE": written(home / "h.cfg", "global\n"), "INGRESS_NAMESPACE": "", "INGRESS_SERVICE_NAME": "",
            "HAPROXY_BACKEND_NAME": "", **more}


def template_set(home: pathlib.Path, text: str) -> dict[str, str]:
    (home / "set").mkdir()
    (home / "set" / "set.yaml").write_text(text)
    return {"CONFIG_SOURCE": "template", "TEMPLATE_FROM": f"file:{home / 'set'}", "INGRESS_NAMESPACE": "", "INGRESS_SERVICE_NAME": "", "HAPROXY_BACKEND_NAME": ""}


# None: the daemon runs on, as these it follows or asks again.
STARTS: dict[str, tuple[Spoil, int | None]] = {
    "good": (lambda home: {}, None),
    "a value that is none": (lambda home: {"RESYNC_PERIOD": "soon"}, 78),
    "a safety setting that is misspelt": (lambda home: {"DRYRUN": "1"}, 78),
    "outside of a pod without KUBECONFIG": (lambda home: {"KUBECONFIG": ""}, 78),
    "in a pod without a service account": (lambda home: {"KUBECONFIG": "", "KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}, 78),
    "no kubeconfig there": (lambda home: {"KUBECONFIG": str(home / "none")}, 78),
    "a kubeconfig that is no YAML": (lambda home: {"KUBECONFIG": written(home / "kubeconfig", "{:")}, 78),
    "a kubeconfig without a context": (lambda home: {"KUBECONFIG": written(home / "kubeconfig", '{"apiVersion": "v1"}')}, 78),
    "Kubernetes' CA is no PEM": (lambda home: kubeconfig(home, '{"server": "https://127.0.0.1:1", "certificate-authority": "%s"}' % written(home / "ca", "x")), 78),
    "Kubernetes' CA is not there": (lambda home: kubeconfig(home, '{"server": "https://127.0.0.1:1", "certificate-authority": "/nonexistent"}'), 78),
    "Kubernetes' client certificate is not there": (lambda home: kubeconfig(home, '{"server": "https://127.0.0.1:1"}',
                                                                            '{"client-certificate": "/nonexistent", "client-key": "/nonexistent"}'), 78),
    "Kubernetes' token is not there": (lambda home: kubeconfig(home, user='{"tokenFile": "/nonexistent"}'), 78),
    "a plugin with SECCOMP": (lambda home: {"SECCOMP": "true", **kubeconfig(home, user='{"exec": {"apiVersion": "client.authentication.k8s.io/v1",'
                                            ' "command": "/bin/true", "interactiveMode": "Never"}}')}, 78),
    "a password file that is not there": (lambda home: {"HAPROXY_DATAPLANE_PASSWORD": "", "HAPROXY_DATAPLANE_PASSWORD_FILE": "/nonexistent"}, 78),
    "a credentials file that is not there": (lambda home: {"HAPROXY_DATAPLANE_CREDENTIALS_FILE": "/nonexistent"}, 78),
    "the API's CA is no PEM": (lambda home: https(home, HAPROXY_DATAPLANE_CA_FILE=written(home / "ca", "x")), 78),
    "the API's CA is not there": (lambda home: https(home, HAPROXY_DATAPLANE_CA_FILE="/nonexistent"), 78),
    "the API's client certificate is not there": (lambda home: https(home, HAPROXY_DATAPLANE_CERT_FILE="/nonexistent", HAPROXY_DATAPLANE_KEY_FILE="/nonexistent"), 78),
    "etcd's CA is no PEM": (lambda home: etcd(home, ETCD_CA_FILE=written(home / "ca", "x")), 78),
    "etcd's password is not there": (lambda home: etcd(home, ETCD_USER="u", ETCD_PASSWORD_FILE="/nonexistent"), 78),
    "STATE_DIR is a file": (lambda home: file_source(home, STATE_DIR=written(home / "state", "")), 1),
    "STATE_DIR cannot be made": (lambda home: file_source(home, STATE_DIR="/nonexistent/state/here"), 1),
    "no haproxy.cfg there yet": (lambda home: file_source(home, CONFIG_FILE=str(home / "none")), None),
    "a template set that is broken": (lambda home: template_set(home, "{:"), None),
}


@pytest.fixture
def there(tmp_path: pathlib.Path) -> dict[str, str]:
    """Settings that the daemon starts with, and nothing behind them."""
    return {"INGRESS_NAMESPACE": "a", "INGRESS_SERVICE_NAME": "b", "HAPROXY_BACKEND_NAME": "be", "HAPROXY_DATAPLANE_URL": "http://127.0.0.1:1",
            "HAPROXY_DATAPLANE_USERNAME": "u", "HAPROXY_DATAPLANE_PASSWORD": "p", "LISTEN_ADDRESS": f"127.0.0.1:{free_port()}", **kubeconfig(tmp_path)}


def start_status(env: dict[str, str], *words: str) -> int | None:
    """What the daemon ends with by itself; None: it has started."""
    with subprocess.Popen([program(), *words], env=clean_env(**env), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        for line in process.stderr:
            if "msg=started" in line:
                process.send_signal(signal.SIGTERM)
                process.stderr.read()
                assert process.wait(LONGEST) == 0
                return None
        return process.wait(LONGEST)


@pytest.mark.parametrize("case", STARTS)
def test_check_config_fails_where_the_daemon_does(there: dict[str, str], tmp_path: pathlib.Path, case: str) -> None:
    spoil, status = STARTS[case]
    env = {name: value for name, value in {**there, **spoil(tmp_path)}.items() if value}
    made = set(tmp_path.iterdir())
    checked = run("check-config", env=env)
    assert set(tmp_path.iterdir()) == made, "check-config makes nothing"
    assert checked.returncode == (status or 0), checked.stderr
    assert ("error: " in checked.stderr) == (status is not None) == (checked.stdout == "")
    assert start_status(env) == status


def test_check_config_beside_the_daemon(rig: Rig) -> None:
    """It neither listens nor takes anything from it."""
    daemon = rig.start()
    daemon.wait_ready()
    done = subprocess.run([program(), "check-config"], env=daemon.env, capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode == 0, done.stderr


# --- one cause is said once

@pytest.fixture
def several(tmp_path: pathlib.Path) -> Iterator[Rig]:
    with Rig(tmp_path, SEVERAL, haproxies=2) as made:
        made.service(node_ports={"http": (80, 30080), "https": (443, 30443)})
        made.pods(1)
        yield made


def mapped(**more: str) -> dict[str, str]:
    web = f"{NAMESPACE}/{SERVICE}"
    return {**BY_NODE_PORT, "INGRESS_NAMESPACE": "", "INGRESS_SERVICE_NAME": "", "HAPROXY_BACKEND_NAME": "",
            "INGRESS_SERVICES": f"{web}:https=be, {web}:http=be2, other/api=be3", **more}


def test_no_api_server_is_one_line(several: Rig) -> None:
    several.kube.listening(False)
    for words, level in ((["plan", "--daemon=none"], "info"), (["plan", "--daemon=none"], "error"), (["explain", "n1"], "info"), (["doctor"], "error")):
        done = with_rig(several, *words, "--timeout=1s", **mapped(LOG_LEVEL=level))
        assert done.returncode == 1
        place = several.kube.url.rpartition(":")[2]
        said = re.findall(rf"Failed\s+to\s+connect\s+to\s+127.0.0.1\s+port\s+{place}\s", done.stdout + done.stderr)
        assert len(said) == 1, done.stdout + done.stderr


def test_no_api_server_is_one_line_of_the_log(several: Rig) -> None:
    several.kube.listening(False)
    daemon = several.start(**mapped())
    for watch in ("nodes", "endpointslices of ingress/web", "services of other/api"):
        daemon.wait_not_ready(f"watch {watch}: not synced: .*refused")
    assert len(re.findall("level=warn.*no complete list", daemon.log())) == 1
    several.kube.listening(True)
    daemon.wait_log("synced with Kubernetes\" resource=nodes")
    daemon.wait_log("contact with the Kubernetes API recovered\" server=")
    for resource in ("services", "endpointslices"):
        daemon.wait_log(f'synced with Kubernetes" resource={resource} service=other/api')
    assert daemon.log().count("contact with the Kubernetes API recovered") == 1


def test_no_data_plane_api_is_one_line_for_each(several: Rig) -> None:
    for pair in several.pairs:
        pair.dataplane.stop()
    done = with_rig(several, "plan", "--daemon=none", "--timeout=5s", **mapped())
    assert done.returncode == 1
    for pair in several.pairs:
        place = pair.dataplane.url.rpartition(":")[2]
        assert len(re.findall(rf"Failed\s+to\s+connect\s+to\s+127.0.0.1\s+port\s+{place}\s", done.stdout + done.stderr)) == 1, done.stdout


# --- exit codes

PAGE = (ROOT / "docs" / "exit-codes.md").read_text()


def rows(n: int) -> list[list[str]]:
    """Of the n-th table of the page, without its head."""
    tables = re.findall(r"((?:^\|.*\n)+)", PAGE, re.M)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in tables[n].splitlines()[2:]]


def test_the_page_has_all_codes_and_commands() -> None:
    defined = {code for header in ROOT.glob("src/**/*.h") for code in re.findall(r"#define \w*EXIT\w* (\d+)", header.read_text())}
    assert {row[0] for row in rows(0)} == defined | {"0", "1"}
    usage = re.findall(r"^(?:usage:| {6}) haproxy-k8s-sync ([a-z][\w-]*(?: [a-z]+)?)", run("help", "all", env={}).stdout, re.M)
    assert {word for command, *_ in rows(1)[1:] for word in with_words(command)} == set(usage)


def test_the_page_has_each_verdict_of_plan() -> None:
    """What the code is for each is tested in tests/unit/daemon/inspect/test_inspect_report.c."""
    table = (ROOT / "src/daemon/inspect/inspect_report.c").read_text().split("} verdicts[] = {", 1)[1].split("};", 1)[0]
    codes = {"EXIT_SUCCESS": "0", "INSPECT_EXIT_UNKNOWN": "1", "INSPECT_EXIT_CHANGES": "2"}
    defined = {(word, codes[status]) for word, status in re.findall(r'\{"(\w+)", (\w+)\}', table)}
    assert {(word, code) for code, text in rows(2) for word in re.findall("`([a-z_]+)`", text)} == defined


Cell = tuple[str, int]
Case = tuple[list[str], dict[str, str]]
COLUMNS = (0, 1, 2, 78)
# What takes more than one call: the test that has it.
ELSEWHERE: dict[Cell, str] = {
    ("(the daemon)", 0): "functional/test_commands.py::test_signals_end_with_what_the_page_says",
    ("(the daemon)", 1): "functional/test_commands.py::test_signals_end_with_what_the_page_says",
    ("watch", 0): "functional/test_commands.py::test_signals_end_with_what_the_page_says",
    ("watch", 1): "functional/test_commands.py::test_signals_end_with_what_the_page_says",
    ("completion", 1): "functional/test_commands.py::test_signals_end_with_what_the_page_says",
    ("help", 1): "functional/test_commands.py::test_signals_end_with_what_the_page_says",
    ("version", 1): "functional/test_commands.py::test_signals_end_with_what_the_page_says",
    ("config history", 0): "functional/test_local.py::test_the_commands_know_it",
    ("config rollback", 0): "functional/test_local.py::test_the_commands_know_it",
    ("apply", 0): "e2e/test_etcd_services.py::test_the_older_page",
    ("apply", 1): "e2e/test_etcd_services.py::test_the_older_page",
}


def with_words(command: str) -> list[str]:
    """"`template render`, `test`": template render, template test."""
    words = re.findall(r"`([a-z -]+)`", command) or [command]
    first = words[0].split()[0]
    return [word if " " in word or " " not in words[0] else f"{first} {word}" for word in words]


def settings_cases(good: dict[str, str]) -> dict[Cell, Case]:
    """Settings that are invalid end each of these in the same way."""
    bad = {**good, "RESYNC_PERIOD": "soon"}
    words = {"(the daemon)": [], "explain": ["explain", "n1"], "config validate": ["config", "validate", "f"], "services explain": ["services", "explain", "a/b"]}
    commands = [command for row in rows(1) if row[1 + COLUMNS.index(78)] for command in with_words(row[0])]
    return {(command, 78): (words.get(command, command.split()), bad) for command in commands}


def cases(rig: Rig, home: pathlib.Path) -> dict[Cell, Case]:
    rig.service()
    said = {"listen-port": "19090", "hostname": "a.example.com", "use-ssl": "false"}
    annotated = objects.service("shop", namespace="shop", node_ports={"web": (80, 30090)},
                                annotations={f"haproxy-kubefigurator.web.{key}": value for key, value in said.items()})
    annotated["metadata"]["labels"] = {"haproxy-kubefigurator.enabled": "yes"}
    rig.kube.put(annotated)
    good = rig.settings(LISTEN_ADDRESS=f"127.0.0.1:{free_port()}")
    away = {**good, "HAPROXY_DATAPLANE_URL": "http://127.0.0.1:1"}
    served = {"KUBECONFIG": good["KUBECONFIG"]}
    as_services = {**served, "CONFIG_SOURCE": "services", "CONFIG_TARGET": "etcd", "ETCD_ENDPOINTS": "http://127.0.0.1:1", "CLUSTER_NAME": "east"}
    (home / "nobody").mkdir(exist_ok=True)
    nobody = kubeconfig(home / "nobody")
    templates, own, broken = str(ROOT / "templates" / "ingress"), str(make_set(home / "own")), str(make_set(home / "broken", cfg="{{"))
    other = str(make_set(home / "other", cfg=CFG + "backend more\n"))
    state = {**good, **file_source(home, STATE_DIR="/nonexistent/state/here")}
    same, changed = str(rig.haproxy.config), written(home / "next.cfg", rig.haproxy.config.read_text() + "\nbackend more\n  mode tcp\n")
    template_words = {"render": [own], "test": [own, "--test=two"], "validate": [own], "benchmark": [own, "--count=1"], "schema": []}
    haproxy = {"HAPROXY_BIN": rig.haproxy.binary}
    found: dict[Cell, Case] = {
        ("check-config", 0): (["check-config"], good), ("check-config", 1): (["check-config"], state),
        ("plan", 0): (["plan"], good), ("plan", 1): (["plan"], away), ("plan", 2): (["plan"], {**good, "HAPROXY_BALANCE": "leastconn"}),
        ("explain", 0): (["explain", "n1"], good), ("explain", 1): (["explain", "n99"], good),
        ("doctor", 0): (["doctor"], good), ("doctor", 1): (["doctor"], away),
        ("release", 0): (["release"], good), ("release", 1): (["release"], away), ("release", 2): (["release", "--servers"], good),
        ("config plan", 0): (["config", "plan", same], good), ("config plan", 1): (["config", "plan", same], away), ("config plan", 2): (["config", "plan", changed], good),
        ("config validate", 0): (["config", "validate", changed], good), ("config validate", 1): (["config", "validate", same], away),
        ("config apply", 0): (["config", "apply", same], good), ("config apply", 1): (["config", "apply", same], away),
        ("config history", 1): (["config", "history"], good), ("config rollback", 1): (["config", "rollback"], good),
        ("template diff", 0): (["template", "diff", templates, "--against", templates], {}), ("template diff", 2): (["template", "diff", own, "--against", other], {}),
        ("template diff", 1): (["template", "diff", "/nonexistent", "--against", templates], {}),
        ("services view", 0): (["services", "view"], as_services), ("services view", 1): (["services", "view"], {**as_services, **nobody}),
        ("services explain", 0): (["services", "explain", "shop/shop"], as_services), ("services explain", 1): (["services", "explain", "no/such"], as_services),
        ("view", 0): (["view"], served), ("view", 1): (["view"], nobody),
        ("copy-to", 0): (["copy-to", str(home)], {}), ("copy-to", 1): (["copy-to", "/nonexistent"], {}), ("completion", 0): (["completion", "bash"], {}), ("help", 0): (["help"], {}), ("version", 0): (["version"], {}),
    }
    found |= {(f"template {word}", 0): (["template", word, *more], haproxy) for word, more in template_words.items()}
    found |= {(f"template {word}", 1): (["template", word, broken], haproxy) for word in template_words if word != "schema"}
    return {**settings_cases(good), **found}


def test_each_cell_of_the_page_has_its_test(rig: Rig, tmp_path: pathlib.Path) -> None:
    cells = {(command, status) for row in rows(1) for command in with_words(row[0]) for status, cell in zip(COLUMNS, row[1:], strict=True) if cell}
    assert not set(cases(rig, tmp_path)) & set(ELSEWHERE)
    assert cells - {("template schema", 1)} == set(cases(rig, tmp_path)) | set(ELSEWHERE), "what is printed of a schema is fixed"
    for place in ELSEWHERE.values():
        file, name = place.split("::")
        assert f"def {name}(" in (ROOT / "tests" / file).read_text()


def test_commands_end_with_what_the_page_says(rig: Rig, tmp_path: pathlib.Path) -> None:
    def why_not(case: tuple[Cell, Case]) -> str:
        (command, status), (words, env) = case
        done = run(*words, env={name: value for name, value in env.items() if value}, timeout=4 * LONGEST)
        return "" if done.returncode == status else f"{command}: {done.returncode} in place of {status} by {words}: {done.stdout[-500:]}{done.stderr[-500:]}"

    commands = [command for row in rows(1)[1:] for command in with_words(row[0])]
    with ThreadPoolExecutor(4) as pool:
        failed = [why for why in pool.map(why_not, cases(rig, tmp_path).items()) if why]
        assert not failed, "\n".join(failed)
        ends = pool.map(lambda command: run(*command.split(), "--frobnicate", env={}).returncode, commands)
    assert dict(zip(commands, ends)) == dict.fromkeys(commands, 64)


def test_signals_end_with_what_the_page_says(rig: Rig) -> None:
    daemon = rig.start()
    daemon.wait_ready()
    daemon.stop()  # asserts 0
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        for done in (run(env=rig.settings(LISTEN_ADDRESS=place)), run("watch", env={"KUBECONFIG": rig.settings()["KUBECONFIG"], "LISTEN_ADDRESS": place})):
            assert done.returncode == 1 and "cannot start" in done.stderr
    watch = {"KUBECONFIG": rig.settings()["KUBECONFIG"], "LISTEN_ADDRESS": f"127.0.0.1:{free_port()}"}
    assert start_status(watch, "watch") is None  # asserts 0
    for words in (["help"], ["version"], ["completion", "fish"]):
        with open("/dev/full", "w") as full:
            assert subprocess.run([program(), *words], env=clean_env(), stdout=full, timeout=LONGEST).returncode == 1
