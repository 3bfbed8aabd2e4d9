#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates man pages and shell completions from the built programs; started by scripts/reference and debian/rules.

Options, arguments and subcommands come from `PROGRAM --experimental-dump-help`, completions from
`PROGRAM --generate-completion-script`, exit codes from docs/exit-codes.md, the rest from parts/PROGRAM.mdoc. They are
not kept in the repository, so they always match the programs.
"""
import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
# Manual section: 8 for administrators' programs.
PROGRAMS = {"hybrid-client": 1, "hybrid-auth": 1, "hybrid-key": 1, "hybrid-remote": 1, "hybrid-relay": 8, "hybrid-lab": 1}
# Programs without the argument parser: section and abstract.
PLAIN = {"hybrid-prompt": (1, "Show the code and the progress of a sign-in in a window."),
         "hybrid-passkeys": (1, "Scan codes, and look after the passkeys of this device."),
         "hybrid-uhid": (8, "Create the virtual security key for hybrid-key.")}
# Other names of a program, which are links to it and to its page.
ALIASES = {"hybrid-key": ["age-plugin-phone"]}
SHELLS = {"bash": "{}.bash", "zsh": "_{}", "fish": "{}.fish"}
# Date of the last change to the parts.
DATE = "November 29, 2026"
HIDDEN = ("help", "version")


def escape(text):
    """Escapes text for any position in an mdoc line."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def prose(text):
    """Formats paragraphs. Code between backticks becomes literal."""
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
                # One sentence per line, so that roff spaces sentences correctly.
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
    """Returns the list item line of an argument."""
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
    """Returns (path, command) of every leaf command, in the order of the help."""
    below = [sub for sub in command.get("subcommands", [])
             if sub.get("shouldDisplay", True) and sub["commandName"] != "help"]
    if not below:
        return [(path, command)]
    return [leaf for sub in below for leaf in commands(path + [sub["commandName"]], sub)]


def exit_codes():
    """Formats the table of docs/exit-codes.md."""
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", (REPOSITORY / "docs" / "exit-codes.md").read_text(), re.MULTILINE)
    lines = [".Bl -tag -width 130"]
    for code, when in rows:
        lines += [f".It {code}", *prose(when[0].upper() + when[1:] + ".")]
    return lines + [".El"]


def names(program):
    """Formats the names of a program; all but the last have a comma."""
    *others, last = [program, *ALIASES.get(program, [])]
    return [*(f".Nm {name} ," for name in others), f".Nm {last}"]


def page(program, section, dump, version):
    command = dump["command"]
    leaves = commands([program], command)
    lines = [
        '.\\" SPDX-License-Identifier: Apache-2.0',
        '.\\" Generated by scripts/reference; handwritten parts are in deploy/man/parts.',
        f".Dd {DATE}", f".Dt {program.upper()} {section}", f".Os hybrid {version}",
        ".Sh NAME", *names(program), f".Nd {escape(command['abstract'].rstrip('.').lower())}",
        ".Sh SYNOPSIS"]
    for path, leaf in leaves:
        lines += synopsis(path, leaf)
    lines.append(".Sh DESCRIPTION")
    parts = sections(program)
    lines += parts.pop("DESCRIPTION")
    for path, leaf in leaves if program not in PLAIN else []:
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
    """Returns the handwritten parts by their headings."""
    text = (HERE / "parts" / f"{program}.mdoc").read_text()
    pieces = re.split(r"(?m)^\.Sh (.*)\n", text)
    return {name: body.strip("\n").split("\n") for name, body in zip(pieces[1::2], pieces[2::2])}


def output(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout


def product_version():
    """Returns the version of the sources, for programs that are not in the folder of the others."""
    text = (REPOSITORY / "Sources/Support/Program/ProductVersion.swift").read_text()
    return re.search(r'static let text = "(.*)"', text)[1]


def generated(folder, wanted):
    """Returns the contents of all files of some programs by their paths in the output folder."""
    files = {}
    for program, section in PROGRAMS.items():
        if program not in wanted:
            continue
        path = str(folder / program)
        version = output([path, "--version"]).split()[-1]
        files[f"man/{program}.{section}"] = page(
            program, section, json.loads(output([path, "--experimental-dump-help"])), version)
        for shell, name in SHELLS.items():
            files["completions/" + name.format(program)] = output([path, "--generate-completion-script", shell])
    for program, (section, abstract) in PLAIN.items():
        if program in wanted:
            dump = {"command": {"abstract": abstract}}
            files[f"man/{program}.{section}"] = page(program, section, dump, product_version())
    return files


def main():
    parser = argparse.ArgumentParser(prog="reference", description=__doc__.split("\n")[0])
    parser.add_argument("--bin-dir", type=Path, default=REPOSITORY / ".build" / "release",
                        help="directory of the programs; default .build/release")
    parser.add_argument("--out", type=Path, default=REPOSITORY / ".build-reference",
                        help="output folder; default .build-reference")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE",
                        help="only the pages of these packages, such as hybrid-client")
    given = parser.parse_args()
    # hybrid-uhid belongs to the package of hybrid-key.
    wanted = {*given.packages, *(["hybrid-uhid"] if "hybrid-key" in given.packages else [])} or {*PROGRAMS, *PLAIN}
    missing = [name for name in PROGRAMS if name in wanted and not (given.bin_dir / name).exists()]
    if missing:
        print(f"reference: {', '.join(missing)} not in {given.bin_dir}; build them, or name the directory with --bin-dir",
              file=sys.stderr)
        return 69
    files = generated(given.bin_dir, wanted)
    for path, text in files.items():
        (given.out / path).parent.mkdir(parents=True, exist_ok=True)
        (given.out / path).write_text(text)
    print(f"reference: {len(files)} files written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
