# SPDX-License-Identifier: Apache-2.0
"""The flaws of Tests/Mutations, and the places in the sources that they change."""
import functools
import glob
import os
import re
import sys
import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FLAWS = os.path.join(ROOT, "Tests/Mutations")


class Unusable(Exception):
    """The flaw does not fit the sources."""


# Anchors

# Comments and string literals of Swift. Braces in interpolations of literals count as text.
NOT_CODE = re.compile(r'''//[^\n]*|/\*[\s\S]*?\*/|(#+)"""[\s\S]*?"""\1|"""(?:\\.|[\s\S])*?"""'''
                      r'''|(#+)"[\s\S]*?"\2|"(?:\\.|[^"\\\n])*"''')


@functools.cache
def code(text):
    """Returns the text with blanks in place of comments and string literals."""
    return NOT_CODE.sub(lambda found: " " * len(found.group(0)), text)


def declarations(text, symbol):
    """Yields the range of each declaration that begins with the symbol, up to the end of its body."""
    pattern = r"(?<![\w.])" + r"\s+".join(map(re.escape, symbol.split())) + r"(?!(?<=\w)\w)"
    for found in re.finditer(pattern, code(text)):
        nesting = {"(": 0, "[": 0, "{": 0}
        for mark in re.finditer(r"[][(){}]", code(text)[found.end():]):
            opening = {")": "(", "]": "[", "}": "{"}.get(mark.group(0))
            if opening is None:
                nesting[mark.group(0)] += 1
                continue
            nesting[opening] -= 1
            # The braces of a default argument are not the body.
            if opening == "{" and nesting["("] <= 0 and nesting["{"] <= 0:
                yield found.start(), found.end() + mark.end()
                break
        else:
            yield found.start(), len(text)


def places(text, edit):
    """Returns the ranges in which the edit's anchor is found, white space aside."""
    parts = ["".join(part.split()) for part in edit["old"].split("…")]
    pattern = re.compile(r"[\s\S]*?".join(r"\s*".join(map(re.escape, part)) for part in parts))
    # Most files can be left out without a look at their structure.
    if not pattern.search(text):
        return set()
    return {found.span() for begin, end in declarations(text, edit["symbol"])
            for found in pattern.finditer(text, begin, end)}


def edits(flaw):
    return [flaw, flaw["also"]] if "also" in flaw else [flaw]


def with_modules(name, listed):
    """Returns the flaws of a file, each with its module, which the file's name gives if the flaw does not."""
    folder = name.removesuffix(".toml")
    return [{"module": folder if folder.startswith("Hybrid") else "Hybrid" + folder} | flaw for flaw in listed]


def read_flaws():
    """Returns the flaws of all files."""
    flaws = []
    for path in sorted(glob.glob(os.path.join(FLAWS, "*.toml"))):
        with open(path, "rb") as file:
            try:
                flaws += with_modules(os.path.basename(path), tomllib.load(file)["flaw"])
            except tomllib.TOMLDecodeError as problem:
                sys.exit(f"mutation-check: {path}: {problem}")
    return flaws


@functools.cache
def module_files(tree, module):
    """Returns the paths of a module's files. A program's folder has its name, that of a library lacks the prefix."""
    sources = os.path.join(tree, "Sources")
    folders = glob.glob(os.path.join(sources, module))
    if not folders:
        name = module.removeprefix("Hybrid")
        found = glob.glob(os.path.join(sources, name)) + glob.glob(os.path.join(sources, "*", name))
        folders = [path for path in found if not os.path.relpath(path, sources).startswith("Hybrid")]
    if len(folders) != 1:
        raise Unusable(f"Sources has {len(folders)} folders for {module}, not one")
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(folders[0])
                  for name in names if name.endswith(".swift"))


def flawed_files(flaw, tree):
    """Returns the files that the flaw changes in the tree: their texts before and after, by path."""
    before, after = {}, {}
    for edit in edits(flaw):
        found = []
        for path in module_files(tree, edit["module"]):
            if path not in after:
                with open(path) as file:
                    before[path] = after[path] = file.read()
            found += [(path, place) for place in places(after[path], edit)]
        if len(found) != 1:
            names = ", ".join(sorted({os.path.basename(path) for path, _ in found}))
            raise Unusable(f"its anchor is found {len(found)} times in {edit['symbol']} of {edit['module']}, not once"
                           + (f": {names}" if names else ""))
        (path, (begin, end)), = found
        after[path] = after[path][:begin] + edit["new"] + after[path][end:]
    paths = [path for path in before if before[path] != after[path]]
    if not paths:
        raise Unusable("it changes nothing")
    return {path: before[path] for path in paths}, {path: after[path] for path in paths}
