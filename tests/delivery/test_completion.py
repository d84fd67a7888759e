"""Shell completion: what bash, zsh and fish offer, and that it is what --help and the parser know."""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest

from tests.harness.daemon import clean_env, program
from tests.harness.process import ROOT

FOLDER = ROOT / "deploy/completion"
NAME = "haproxy-k8s-sync"

# The words that were typed, the last one as far as it was -> what is offered.
COMMANDS = {"plan", "explain", "doctor", "release", "config", "template", "services", "apply", "view", "watch", "check-config", "copy-to", "completion", "help", "version"}
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
    (["services", "view", "-o", "j"], {"json"}),
    (["version", "--output", ""], {"text", "json"}),
    (["completion", ""], {"bash", "zsh", "fish"}),
    (["template", "v"], {"validate"}),
    (["template", "d"], {"diff"}),
    (["template", "test", "--color", "al"], {"always"}),
    (["template", "test", "--output", "ju"], {"junit"}),
]
SETTINGS = {"--kubeconfig", "--dry-run", "--log-level"}
OPTIONS = {"plan": {"--output", "--color", "--timeout", "--daemon", "--watch", "--help"} | SETTINGS, "doctor": {"--output", "--color", "--timeout", "--help"} | SETTINGS,
           "explain": {"--output", "--color", "--timeout", "--watch", "--help"} | SETTINGS, "check-config": {"--changed", "--output", "--help"} | SETTINGS,
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


Offered = list[set[str]]


def words_of(lines: str) -> Offered:
    """Of each case, whose end is a line."""
    return [set(part.split()) for part in lines.split("# end\n")[:-1]]


def by_bash(cases: list[list[str]], program: str = NAME) -> Offered:
    """As readline does: it takes "=" for a word of its own."""
    script = f". {FOLDER}/{NAME}.bash; complete -p {program} >/dev/null\n"
    for words in cases:
        typed = [program, *(part for word in words for part in (re.split("(=)", word) if "=" in word else [word]))]
        script += f"COMP_WORDS=({shlex.join(typed)}) COMP_CWORD={len(typed) - 1} COMPREPLY=(); _haproxy_k8s_sync; printf '%s\\n' \"${{COMPREPLY[@]}}\" '# end'\n"
    return words_of(told(shell("bash"), "--norc", "-uc", script))


def by_fish(cases: list[list[str]], program: str = NAME) -> Offered:
    asked = "".join(f"complete -C '{' '.join([program, *words])}'; echo '# end'\n" for words in cases)
    out = told(shell("fish"), "--no-config", "-c", f"source {FOLDER}/{NAME}.fish\n{asked}", HOME=os.environ.get("HOME", "/"))
    return words_of(re.sub(r"\t.*", "", out))


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
# Types each line and a tab into another zsh, whose terminal has to be read meanwhile; then ^U takes the line away.
ZSH = r"""
zmodload zsh/zpty
zpty z zsh -d -i
await() {
    repeat 1000; do
        zpty -r -t z line
        [[ $(grep -cx "# $1" $OUT 2>/dev/null) -ge $2 ]] && return
        sleep 0.02
    done
    print "no $1 $2"
}
await up 1
number=0
for line in ${(f)LINES_TYPED}; do
    zpty -w -n z "$line"$'\t'
    await end $((++number))
    zpty -w -n z $'\x15'
done
zpty -d z
"""


def by_zsh(cases: list[list[str]], home: pathlib.Path, program: str = NAME) -> Offered:
    out = home / "offered"
    out.unlink(missing_ok=True)
    (home / ".zshrc").write_text(ZSHRC)
    typed = "\n".join(" ".join([program, *words]) for words in cases)
    told(shell("zsh"), "-f", "-c", ZSH, ZDOTDIR=str(home), FOLDER=str(FOLDER), OUT=str(out), LINES_TYPED=typed, TERM="vt100")
    return words_of(out.read_text().removeprefix("# up\n"))


# --- what is offered

TYPED = [words for words, _ in CASES]
OFFERED = [offered for _, offered in CASES]
EQUALS: list[tuple[list[str], set[str]]] = [(["plan", "--color="], {"auto", "always", "never"}), (["plan", "--color=a"], {"auto", "always"}),
                                            (["doctor", "--output=t"], {"text"})]


def test_bash() -> None:
    # Beside commands bash offers the options at once.
    more = {"--help", "--version", "--kubeconfig=", "--dry-run", "--log-level="}
    assert by_bash(TYPED) == by_bash(TYPED, f"{NAME}-as-service") == [OFFERED[0] | more, *OFFERED[1:]]
    assert by_bash([words for words, _ in EQUALS]) == [offered for _, offered in EQUALS]


def test_fish() -> None:
    assert by_fish(TYPED) == by_fish(TYPED, f"{NAME}-as-service") == OFFERED


def test_zsh(tmp_path: pathlib.Path) -> None:
    assert by_zsh(TYPED, tmp_path) == OFFERED


def test_options(tmp_path: pathlib.Path) -> None:
    asked = [[command, "--"] for command in OPTIONS]
    assert [{word.rstrip("=") for word in words} for words in by_bash(asked)] == list(OPTIONS.values())
    assert by_fish(asked) == by_zsh(asked, tmp_path, f"{NAME}-as-service") == list(OPTIONS.values())


# --- what there is to offer

def words_of_help() -> tuple[set[str], set[str]]:
    """Commands and long options of the usage part."""
    usage = told(program(), "help", "all").split("\nSettings are", 1)[0]
    commands = set(re.findall(rf"^(?:usage:| {{6}}) {NAME} ([a-z][\w-]*)", usage, re.M))
    return commands, set(re.findall(r"--[a-z]+(?:-[a-z]+)*", usage))


def test_commands_and_options_are_those_of_help() -> None:
    commands, options = words_of_help()
    assert commands == COMMANDS
    asked = [["--"], *([command, "--"] for command in OPTIONS), ["template", "diff", "--"], ["template", "benchmark", "--"]]
    offered = {word.rstrip("=") for words in by_bash(asked) for word in words}
    assert offered - {"--output"} == options | {"--help"}, "--output is -o there"


def test_the_program_prints_what_the_package_has() -> None:
    for name, file in (("bash", f"{NAME}.bash"), ("zsh", f"_{NAME}"), ("fish", f"{NAME}.fish")):
        assert told(program(), "completion", name) == (FOLDER / file).read_text()
    assert subprocess.run([program(), "completion", "csh"], capture_output=True, timeout=60).returncode == 64


def test_values_are_taken() -> None:
    env = clean_env(HAPROXY_DATAPLANE_URL="http://127.0.0.1:1", KUBECONFIG="/nonexistent")
    without = {"--help", "--dry-run", "--changed", "--kubeconfig", "--servers", "--yes", "--watch"}
    asked = [[command, option] for command, options in OPTIONS.items() for option in sorted(options - without)]
    for words, values in zip(asked, by_bash([[*words, ""] for words in asked]), strict=True):
        for value in sorted(values):
            done = subprocess.run([program(), *words, value, *(["n"] if words[0] == "explain" else [])], env=env, capture_output=True, text=True, timeout=60)
            assert done.returncode != 64, f"{words} {value}: {done.stderr}"
