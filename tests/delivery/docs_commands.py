"""Command lines of the pages: parsed as a shell does, each by its own program's rules."""

from __future__ import annotations

import functools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

from .docs_blocks import ROOT
from .once import version

KUBECTL = {"annotate", "apply", "config", "create", "delete", "describe", "exec", "get", "label", "logs", "port-forward", "rollout", "scale",
           "set", "version", "wait"}
GLOBAL_KUBECTL = {"-n", "--namespace"}
# Packages of Debian's, and ours.
PACKAGES = {"haproxy", "keepalived", "curl", "make", "haproxy-k8s-sync"}
SYSTEMCTL = {"daemon-reload", "restart", "enable", "disable", "status", "stop", "start", "reload", "is-active"}


class Wrong(AssertionError):
    pass


def lines_of(text: str) -> list[str]:
    """Lines of a script, those that go on with a backslash as one, without comments."""
    joined = re.sub(r"\\\n\s*", " ", text)
    return [line for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def commands_of(line: str) -> list[list[str]]:
    """The words of each simple command: of a pipe's sides, and of what stands in $(...)."""
    inner = re.findall(r"\$\(((?:[^()]|\([^()]*\))*)\)", line)
    outer = re.sub(r"\$\(((?:[^()]|\([^()]*\))*)\)", "SUBSTITUTED", line)
    found = [words for each in inner for words in commands_of(each)]
    lexer = shlex.shlex(outer, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = "#"
    command: list[str] = []
    to_a_file = False
    for word in [*lexer, ";"]:
        if word in ("|", "||", "&&", ";", "&"):
            if command:
                found.append(command)
            command = []
        elif to_a_file or word in (">", ">>", "<"):
            to_a_file = not to_a_file
        elif command or not re.fullmatch(r"\w+=.*", word):
            command.append(word)
    return found


@functools.cache
def said_by(*words: str) -> str:
    # What an outer make hands to its children is not meant for one that is started here.
    own = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300, cwd=ROOT, env=own)
    return done.stdout + done.stderr


def flags_of(words: list[str]) -> set[str]:
    return {re.sub(r"=.*", "", word) for word in words if re.fullmatch(r"--?[a-z][\w-]*(=.*)?", word)}


def check_flags(words: list[str], helptext: str) -> None:
    for flag in flags_of(words):
        if not re.search(rf"(^|[\s,\[]){re.escape(flag)}\b", helptext):
            raise Wrong(f"{words[0]}: no flag {flag}")


def check_repository_paths(words: list[str]) -> None:
    for word in words:
        # deploy/NAME is a Deployment to kubectl.
        if re.match(r"(docs|charts|scripts|tests)/|deploy/.*\.", word) and not (ROOT / word).exists():
            raise Wrong(f"there is no {word}")


# --- programs


def make(words: list[str]) -> None:
    variables = [word.split("=")[0] for word in words[1:] if "=" in word]
    rules = "".join(path.read_text() for path in [ROOT / "Makefile", *ROOT.glob("scripts/*.mk"), *ROOT.glob("tests/*.mk")])
    read = rules + "".join(path.read_text() for path in ROOT.glob("tests/*/__main__.py"))
    for name in variables:
        if not re.search(rf"\b{name}\b", read):
            raise Wrong(f"make knows no variable {name}")
    for target in [word for word in words[1:] if "=" not in word]:
        if not re.search(rf"^(\.PHONY:.*|(?:[\w -]* )?){re.escape(target)}\b[^=\n]*:(?!=)", rules, re.M):
            raise Wrong(f"no target {target!r}")
    # And make itself, which reads all of it and runs nothing: not even other makes, which -n alone would. Without its built-in rules,
    # of which none is used, and which take it seconds to read through.
    said = said_by("make", "-rRn", "MAKE=true", f"B={tempfile.gettempdir()}/nothing-is-built-here", *words[1:])
    if "***" in said:
        raise Wrong(said)


def ours(words: list[str]) -> None:
    table, parser, settings = ((ROOT / "src" / name).read_text() for name in ("cli/command_table.c", "cli/command.c", "settings/table.c"))
    text = "".join(f"haproxy-k8s-sync {word}\n" for word in re.findall(r'(?:\.word = |\bROW\()"([a-z-]+)"', table))
    text += "".join(f" --{name}\n" for name in re.findall(r'^    \{"(?!colour)([a-z]+)", \'', parser, re.M) + re.findall(r'\.flag = "([a-z-]+)"', settings))
    older = re.sub(r'\{"([a-z-]+)", "[A-Z_]+"\}', r" --\1 ", (ROOT / "src/cli/older.c").read_text())
    usage = text + older + "".join(path.read_text() for path in [*ROOT.glob("cmd/*/*.c"), *ROOT.glob("src/cli/command.c")])
    if len(words) > 1 and not words[1].startswith("-") and f"haproxy-k8s-sync {words[1]}" not in usage:
        raise Wrong(f"--help knows no {words[1]!r}")
    check_flags([words[0], *[w for w in words[2:] if w != "-o"]], usage)


def kubectl(words: list[str], helm: pathlib.Path, program: pathlib.Path) -> None:
    rest = list(words[1:])
    while rest and rest[0] in GLOBAL_KUBECTL:
        rest = rest[2:]
    if not rest or rest[0] not in KUBECTL:
        raise Wrong(f"no kubectl {rest[:1]}, or not one that the test knows")
    if "--" in rest:
        inner = rest[rest.index("--") + 1:]
        rest = rest[:rest.index("--")]
        check(inner, helm, program)
    if flags_of(rest):
        sub = [rest[0], *([rest[1]] if rest[0] in ("config", "create", "rollout", "set") else [])]
        sub += [rest[2]] if sub == ["create", "secret"] else []
        check_flags([w for w in rest if w not in GLOBAL_KUBECTL], said_by(str(program), *sub, "--help") + said_by(str(program), "options"))


def systemctl(words: list[str]) -> None:
    verbs = [word for word in words[1:] if not word.startswith("-")]
    if verbs[0] not in SYSTEMCTL or flags_of(words) - {"--now", "--quiet"}:
        raise Wrong(f"systemctl {verbs[0]} or its flags are not what the test knows")


def apt(words: list[str]) -> None:
    if words[1] not in ("install", "purge", "remove", "update"):
        raise Wrong(f"apt-get {words[1]}")
    for package in words[2:]:
        name = package.removeprefix("./build/").removesuffix(f"_{version()}_amd64.deb")
        if name not in PACKAGES:
            raise Wrong(f"package {package}")


def asked(*helpwords: str):  # type: ignore[no-untyped-def]
    def check_it(words: list[str]) -> None:
        program = shutil.which(words[0], path="/usr/sbin:/usr/bin:/sbin:/bin")
        if program is None:
            raise Wrong(f"no {words[0]} here to ask for its flags")
        check_flags(words, said_by(program, *helpwords))
    return check_it


def skopeo(words: list[str]) -> None:
    if words[1:3] != ["copy", f"oci-archive:build/haproxy-k8s-sync-{version()}-amd64.oci.tar"] or not words[3].startswith("docker://"):
        raise Wrong(f"skopeo {words[1:]}")


def as_service(words: list[str]) -> None:
    if not (ROOT / "deploy/systemd/haproxy-k8s-sync-as-service").exists():
        raise Wrong("there is no haproxy-k8s-sync-as-service")
    ours(["haproxy-k8s-sync", *words[1:]])


def copied(words: list[str]) -> None:
    """The program in the chart's pod beside HAProxy, by its own loader."""
    template = (ROOT / "charts/haproxy-k8s-sync/templates/_sidecar.tpl").read_text()
    if f"[{', '.join(words[:4])}]" not in template:
        raise Wrong(f"not how the chart runs it: {words[:4]}")
    ours(["haproxy-k8s-sync", *words[4:]])


def haproxy(words: list[str]) -> None:
    if not set(words[1:]) <= {"-c", "-f", "-W", "-db", "-S"} | {w for w in words if w.startswith("/")}:
        raise Wrong(f"haproxy {words[1:]}")


PROGRAMS = {
    "make": make, "haproxy-k8s-sync": ours, "haproxy-k8s-sync-as-service": as_service, "skopeo": skopeo, "systemctl": systemctl, "apt-get": apt, "haproxy": haproxy,
    "/opt/haproxy-k8s-sync/ld.so": copied,
    "curl": asked("--help", "all"), "install": asked("--help"), "keepalived": asked("--help"), "base64": asked("--help"),
    **{name: asked("--help") for name in ("useradd", "userdel", "chown", "chgrp", "chmod", "ln", "rm", "cp", "echo", "ls")},
    "openssl": lambda words: None, "etcdctl": lambda words: None, "ip": lambda words: None, "promtool": lambda words: None,
}


def check(words: list[str], helm: pathlib.Path, kubectl_program: pathlib.Path) -> None:
    check_repository_paths(words)
    if words[0] == "helm":
        from . import docs_helm  # which needs this module
        docs_helm.check_command(words, helm)
    elif words[0] == "kubectl":
        kubectl(words, helm, kubectl_program)
    elif words[0] in PROGRAMS:
        PROGRAMS[words[0]](words)
    else:
        raise Wrong(f"no rule for the program {words[0]!r}")
