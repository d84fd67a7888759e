"""Shell completion: what bash, zsh and fish offer, and that it is what --help and the parser know."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from tests.harness.daemon import clean_env, program
from tests.harness.process import ROOT

FOLDER = ROOT / "deploy/completion"
NAME = "haproxy-k8s-sync"

# The words that were typed, the last one as far as it was -> what is offered.
COMMANDS = {"plan", "explain", "doctor", "release", "config", "template", "services", "apply", "view", "watch", "check-config", "copy-to", "help", "version"}
CASES: list[tuple[list[str], set[str]]] = [
    ([""], COMMANDS),
    (["pl"], {"plan"}),
    (["ch"], {"check-config"}),
    (["--ver"], {"--version"}),
    (["plan", "-o", ""], {"text", "json"}),
    (["plan", "--output", "j"], {"json"}),
    (["doctor", "--output", ""], {"text", "json"}),
    (["explain", "--color", ""], {"auto", "always", "never"}),
    (["plan", "--color", "al"], {"always"}),
    (["plan", "--daemon", "n"], {"none"}),
    (["doctor", "--timeout", "3"], {"30s"}),
    (["check-config", "x"], set()),
    (["re"], {"release"}),
    (["release", "--y"], {"--yes"}),
    (["release", "-o", ""], {"text", "json"}),
    (["check-config", "--ch"], {"--changed"}),
    (["plan", "--log-level", "d"], {"debug"}),
    (["--dry"], {"--dry-run"}),
    (["help", "se"], {"services", "settings"}),
    (["config", "p"], {"plan"}),
    (["config", "r"], {"rollback"}),
    (["config", "history", "--output", ""], {"text", "json"}),
    (["config", "plan", "--color", "al"], {"always"}),
    (["services", "v"], {"view"}),
    (["services", "explain", "--color", "al"], {"always"}),
    (["template", "v"], {"validate"}),
    (["template", "d"], {"diff"}),
    (["template", "test", "--color", "al"], {"always"}),
    (["template", "test", "--output", "ju"], {"junit"}),
]
SETTINGS = {"--kubeconfig", "--dry-run", "--log-level"}
OPTIONS = {"plan": {"--output", "--color", "--timeout", "--daemon", "--help"} | SETTINGS, "doctor": {"--output", "--color", "--timeout", "--help"} | SETTINGS,
           "explain": {"--color", "--timeout", "--help"} | SETTINGS, "check-config": {"--changed", "--help"} | SETTINGS,
           "release": {"--servers", "--yes", "--daemon", "--output", "--color", "--timeout", "--help"} | SETTINGS}


def shell(name: str) -> str:
    found = shutil.which(name)
    if not found:
        pytest.skip(f"no {name} here (Debian's package {name})")
    return found


def told(*command: object, status: int = 0, **env: str) -> str:
    home = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "TERM": "dumb"}
    done = subprocess.run([str(word) for word in command], env=home | env, capture_output=True, text=True, timeout=60)
    assert done.returncode == status and not done.stderr, f"{done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


def by_bash(words: list[str], program: str = NAME) -> set[str]:
    """As readline does: it takes "=" for a word of its own."""
    split = [part for word in words for part in (re.split("(=)", word) if "=" in word else [word])]
    typed = " ".join(f"'{word}'" for word in [program, *split])
    script = f". {FOLDER}/{NAME}.bash; COMP_WORDS=({typed}); COMP_CWORD={len(split)}; complete -p {program} >/dev/null; _haproxy_k8s_sync; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return set(told(shell("bash"), "--norc", "-uc", script).split())


def by_fish(words: list[str], program: str = NAME) -> set[str]:
    typed = " ".join([program, *words])
    out = told(shell("fish"), "--no-config", "-c", f"source {FOLDER}/{NAME}.fish; complete -C '{typed}'", HOME=os.environ.get("HOME", "/"))
    return {line.split("\t")[0] for line in out.splitlines()}


# What compadd is given and takes is what is offered; the lists that it is only asked about (-O, -A, -D) are not.
ZSHRC = r"""
fpath=($FOLDER $fpath)
autoload -Uz compinit
compinit -u -D
compadd() {
    local -a found
    if [[ " ${(j: :)@} " != *" -"[OAD]" "* ]]; then
        builtin compadd -A found "$@"
        print -rl -- $found >>$OUT
    fi
    builtin compadd "$@"
}
offer() {
    zle complete-word
    print -r -- '# end' >>$OUT
}
zle -N offer
bindkey '^I' offer
print -r -- '# up' >>$OUT
"""
# Types the line and a tab into another zsh, whose terminal has to be read meanwhile.
ZSH = r"""
zmodload zsh/zpty
zpty z zsh -d -i
await() {
    repeat 1000; do
        zpty -r -t z line
        grep -qx "# $1" $OUT 2>/dev/null && return
        sleep 0.02
    done
    print "no $1"
}
await up
zpty -w -n z "$LINE"$'\t'
await end
zpty -d z
"""


def by_zsh(words: list[str], home: pathlib.Path, program: str = NAME) -> set[str]:
    out = home / "offered"
    out.unlink(missing_ok=True)
    (home / ".zshrc").write_text(ZSHRC)
    told(shell("zsh"), "-f", "-c", ZSH, ZDOTDIR=str(home), FOLDER=str(FOLDER), OUT=str(out), LINE=" ".join([program, *words]), TERM="vt100")
    return {line for line in out.read_text().splitlines() if line and not line.startswith("#")}


# --- what is offered

@pytest.mark.parametrize(("words", "offered"), CASES, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_bash(words: list[str], offered: set[str]) -> None:
    # Beside commands bash offers the options at once.
    more = {"--help", "--version", "--kubeconfig=", "--dry-run", "--log-level="} if words == [""] else set()
    assert by_bash(words) == by_bash(words, f"{NAME}-as-service") == offered | more


@pytest.mark.parametrize(("words", "offered"), [(["plan", "--color="], {"auto", "always", "never"}), (["plan", "--color=a"], {"auto", "always"}),
                                                (["doctor", "--output=t"], {"text"})])
def test_bash_behind_an_equals_sign(words: list[str], offered: set[str]) -> None:
    assert by_bash(words) == offered


@pytest.mark.parametrize(("words", "offered"), CASES, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_fish(words: list[str], offered: set[str]) -> None:
    assert by_fish(words) == by_fish(words, f"{NAME}-as-service") == offered


@pytest.mark.parametrize(("words", "offered"), CASES, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_zsh(tmp_path: pathlib.Path, words: list[str], offered: set[str]) -> None:
    assert by_zsh(words, tmp_path) == offered


@pytest.mark.parametrize("command", sorted(OPTIONS))
def test_options(tmp_path: pathlib.Path, command: str) -> None:
    assert {word.rstrip("=") for word in by_bash([command, "--"])} == OPTIONS[command]
    assert by_fish([command, "--"]) == OPTIONS[command]
    assert by_zsh([command, "--"], tmp_path, f"{NAME}-as-service") == OPTIONS[command]


# --- what there is to offer

def words_of_help() -> tuple[set[str], set[str]]:
    """Commands and long options of the usage part."""
    usage = told(program(), "help", "all").split("\nSettings are", 1)[0]
    commands = set(re.findall(rf"^(?:usage:| {{6}}) {NAME} ([a-z][\w-]*)", usage, re.M))
    return commands, set(re.findall(r"--[a-z]+(?:-[a-z]+)*", usage))


def test_commands_and_options_are_those_of_help() -> None:
    commands, options = words_of_help()
    assert commands == COMMANDS
    offered = {word.rstrip("=") for words in (*([command] for command in OPTIONS), ["template", "diff"], ["template", "benchmark"])
               for word in [*by_bash([*words, "--"]), *by_bash(["--"])]}
    assert offered - {"--output"} == options | {"--help"}, "--output is -o there"


def test_values_are_taken() -> None:
    env = clean_env(HAPROXY_DATAPLANE_URL="http://127.0.0.1:1", KUBECONFIG="/nonexistent")
    for command in OPTIONS:
        for option in sorted(OPTIONS[command] - {"--help", "--dry-run", "--changed", "--kubeconfig", "--servers", "--yes"}):
            for value in sorted(by_bash([command, option, ""])):
                done = subprocess.run([program(), command, option, value, *(["n"] if command == "explain" else [])], env=env, capture_output=True, text=True, timeout=60)
                assert done.returncode != 64, f"{command} {option} {value}: {done.stderr}"
