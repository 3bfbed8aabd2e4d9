#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Man pages and shell completions from what the built programs say of themselves; scripts/reference starts this.

Options, arguments and subcommands come from `PROGRAM --experimental-dump-help`, completions from
`PROGRAM --generate-completion-script`, exit codes from docs/exit-codes.md, the rest from parts/PROGRAM.mdoc. So a page
can't say what the program does not do: `--check` fails where a page that is checked in is not the one that comes out.
"""
import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
COMPLETIONS = REPOSITORY / "deploy" / "completions"
# Section of the manual: 8 for what an administrator runs.
PROGRAMS = {"hybrid-client": 1, "hybrid-auth": 1, "hybrid-relay": 8, "hybrid-lab": 1}
SHELLS = {"bash": "{}.bash", "zsh": "_{}", "fish": "{}.fish"}
# Of the last change to the parts; options need none.
DATE = "November 21, 2026"
HIDDEN = ("help", "version")


def escape(text):
    """Text as mdoc takes it anywhere on a line."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def prose(text):
    """Paragraphs; code between backticks becomes literal."""
    lines = []
    for number, paragraph in enumerate(text.strip().split("\n\n")):
        if number:
            lines.append(".Pp")
        words = " ".join(paragraph.split())
        for position, piece in enumerate(re.split(r"`([^`]*)`", words)):
            piece = piece.strip()
            if piece and position % 2:
                lines.append(f".Ql {quoted(piece)}")
            elif piece:
                # Each sentence on a line of its own, so that the space behind it is a sentence's.
                lines += escape(re.sub(r"([.?!]\)?) (?=[A-Z(])", r"\1\n", piece)).split("\n")
    return lines


def quoted(text):
    return '"' + escape(text).replace('"', '\\(dq') + '"'


def shown(command):
    return [argument for argument in command.get("arguments", [])
            if argument.get("shouldDisplay", True)
            and not (argument["kind"] != "positional" and argument["preferredName"]["name"] in HIDDEN)]


def spelled(name):
    return "-" + name["name"] if name["kind"] == "short" else "--" + name["name"]


def value(argument):
    return argument.get("valueName", "value")


def item(argument):
    """The head of an argument's paragraph."""
    if argument["kind"] == "positional":
        return f".It Ar {escape(value(argument))}" + (" ..." if argument["isRepeating"] else "")
    names = [name for name in argument["names"] if name["kind"] in ("long", "short")]
    text = " , ".join(f"Fl {escape(spelled(name)[1:])}" for name in names)
    if argument["kind"] == "option":
        text += f" Ar {escape(value(argument))}"
    return f".It {text}"


def synopsis(path, command):
    lines = [f".Nm {path[0]}"]
    if len(path) > 1:
        lines.append(f".Cm {' '.join(path[1:])}")
    for argument in shown(command):
        if argument["kind"] == "positional":
            text = f"Ar {escape(value(argument))}" + (" ..." if argument["isRepeating"] else "")
        else:
            text = f"Fl {escape(spelled(argument['preferredName'])[1:])}"
            if argument["kind"] == "option":
                text += f" Ar {escape(value(argument))}"
        lines.append(f".Op {text}" if argument["isOptional"] else f".{text}")
    return lines


def options(command):
    arguments = shown(command)
    if not arguments:
        return []
    lines, section = [], None
    open_list = False
    for argument in arguments:
        if argument.get("sectionTitle") != section:
            if open_list:
                lines.append(".El")
            section, open_list = argument.get("sectionTitle"), False
            if section:
                lines += [".Pp", f"{escape(section)}:"]
        if not open_list:
            lines.append(".Bl -tag -width Ds")
            open_list = True
        lines.append(item(argument))
        text = argument.get("abstract", "")
        if argument.get("discussion"):
            text += "\n\n" + argument["discussion"]
        lines += prose(text)
        if argument.get("defaultValue") and argument["kind"] == "option":
            lines.append(f"The default is {escape(argument['defaultValue'])}.")
    return lines + [".El"]


def commands(path, command):
    """(path, command) of every command that does something, in the order of the help."""
    below = [sub for sub in command.get("subcommands", [])
             if sub.get("shouldDisplay", True) and sub["commandName"] != "help"]
    if not below:
        return [(path, command)]
    return [leaf for sub in below for leaf in commands(path + [sub["commandName"]], sub)]


def exit_codes():
    """The table of docs/exit-codes.md."""
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", (REPOSITORY / "docs" / "exit-codes.md").read_text(), re.MULTILINE)
    lines = [".Bl -tag -width 130"]
    for code, when in rows:
        lines += [f".It {code}", *prose(when[0].upper() + when[1:] + ".")]
    return lines + [".El"]


def page(program, dump, version):
    command = dump["command"]
    leaves = commands([program], command)
    lines = [
        '.\\" SPDX-License-Identifier: Apache-2.0',
        '.\\" Made by scripts/reference; what is not about options stands in deploy/man/parts.',
        f".Dd {DATE}", f".Dt {program.upper()} {PROGRAMS[program]}", f".Os hybrid {version}",
        ".Sh NAME", f".Nm {program}", f".Nd {escape(command['abstract'].rstrip('.').lower())}",
        ".Sh SYNOPSIS"]
    for path, leaf in leaves:
        lines += synopsis(path, leaf)
    lines.append(".Sh DESCRIPTION")
    parts = sections(program)
    lines += parts.pop("DESCRIPTION")
    for path, leaf in leaves:
        title = " ".join(path[1:]) or "Options"
        lines += [f".Ss {title}", *prose(leaf.get("abstract", ""))]
        if leaf.get("discussion"):
            lines += [".Pp", *prose(leaf["discussion"])]
        lines += options(leaf)
    for name in ("ENVIRONMENT", "FILES"):
        if name in parts:
            lines += [f".Sh {name}", *parts.pop(name)]
    lines += [".Sh EXIT STATUS", *exit_codes()]
    for name, text in parts.items():
        lines += [f".Sh {name}", *text]
    return "\n".join(lines) + "\n"


def sections(program):
    """The parts that are written by hand, by their headings."""
    text = (HERE / "parts" / f"{program}.mdoc").read_text()
    pieces = re.split(r"(?m)^\.Sh (.*)\n", text)
    return {name: body.strip("\n").split("\n") for name, body in zip(pieces[1::2], pieces[2::2])}


def said(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout


def made(folder):
    """All files that there should be, with their contents."""
    files = {}
    for program, section in PROGRAMS.items():
        path = str(folder / program)
        version = said([path, "--version"]).split()[-1]
        files[HERE / f"{program}.{section}"] = page(
            program, json.loads(said([path, "--experimental-dump-help"])), version)
        for shell, name in SHELLS.items():
            files[COMPLETIONS / name.format(program)] = said([path, "--generate-completion-script", shell])
    return files


def main():
    parser = argparse.ArgumentParser(prog="reference", description=__doc__.split("\n")[0])
    parser.add_argument("--bin-dir", type=Path, default=REPOSITORY / ".build" / "release",
                        help="where the programs are; default .build/release")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a file is not up to date")
    given = parser.parse_args()
    missing = [name for name in PROGRAMS if not (given.bin_dir / name).exists()]
    if missing:
        print(f"reference: {', '.join(missing)} not in {given.bin_dir}; build them, or name the folder by --bin-dir",
              file=sys.stderr)
        return 69
    files = made(given.bin_dir)
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    if given.check:
        for path in stale:
            print(f"reference: {path.relative_to(REPOSITORY)} is not what the programs say; run scripts/reference",
                  file=sys.stderr)
        print(f"reference: {len(files) - len(stale)} of {len(files)} files are up to date")
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path])
    print(f"reference: {len(stale)} of {len(files)} files written anew")
    return 0


if __name__ == "__main__":
    sys.exit(main())
