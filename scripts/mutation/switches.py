# SPDX-License-Identifier: Apache-2.0
"""Flaws behind switches, so that one build holds many of them.

The body of a function that has flaws becomes a choice between copies: one for each flaw, and the body as it is.

    func open(_ tag: Tag) -> Bool {
        if hybridFlaw(17) { … the body with flaw 17 … } else { … the body … }
    }

The initial value of a property becomes such a choice, too. `hybridFlaw` is in the C module of the folder `switch`,
which the copied package gets as a further target: it compares the number with that in the file `flaw` beside the
running program. Flaws elsewhere, and those whose copies do not compile, have no switch.
"""
import difflib
import os
import re
import zlib

from .flaws import NOT_CODE, ROOT, code

MODULE = "CHybridFlaw"
FOLDER = "FlawSwitch"
PACKAGE_ADDITION = f"""
// Added by scripts/mutation-check.
for target in package.targets where target.type == .regular || target.type == .executable {{
    target.dependencies.append("{MODULE}")
}}
package.targets.append(.target(name: "{MODULE}", path: "{FOLDER}"))
"""
MODIFIERS = (r"(?:@\w+(?:\([^)]*\))?\s+|(?:public|package|internal|private|fileprivate|static|class|final|override"
             r"|mutating|nonmutating|consuming|borrowing|convenience|required|nonisolated|isolated|lazy|weak|unowned)"
             r"(?:\(\w+\))?\s+)*?")
FUNCTION = re.compile(rf"\s*{MODIFIERS}(?:func\b|subscript\b|(?:init[?!]?|deinit)(?=\s*[<({{]|\s*$))")
ACCESSOR = re.compile(r"\s*(?:(?:non)?mutating\s+)?(get|set|willSet|didSet)\b(?:\s*\(\w+\))?[\s\w]*$")
ACCESSORS = re.compile(r"\s*(?:(?:non)?mutating\s+)?(?:get|set|willSet|didSet)\b")
VARIABLE = re.compile(rf"\s*{MODIFIERS}(?:var|let)\s+\w+\s*(?::[^=]*)?(=\s*)?$")
# Lines that go on with the declaration or the statement above.
CONTINUED = re.compile(r"\s*(?:[])}.?:]|[&|]{2}|[-+*/<>=!%^&|]+\s|where\b|throws\b|async\b|->|else\b|catch\b|in\b)")
STATEMENT = re.compile(r"\s*(?:return|throw|let|var|guard|for|while|repeat|do|defer|func|struct|enum|fatalError"
                       r"|preconditionFailure)\b")
INITIALIZED = re.compile(rf"( *){MODIFIERS}(?:var|let)\s+(?:\w+|\([\w, ]+\))\s*(?::[^={{]*)?=\s+")
CHOICE = re.compile(r"\s*(?:if|switch)\b")


class Body:
    """The text between a function's braces."""

    def __init__(self, begin, end, has_result):
        self.begin, self.end, self.has_result = begin, end, has_result

    def holds(self, other):
        return self.begin <= other.begin and other.end <= self.end

    def choice(self, copies, original):
        """Yields the pieces of a choice between copies, each with the flaw that it belongs to, if any."""
        finish = with_return if self.has_result else str
        for switch, copy in copies:
            yield f"\nif hybridFlaw({switch}) {{\n", None
            yield finish(copy), switch
            yield "\n} else ", None
        yield "{\n" + finish(original) + "\n}\n", None


class InitialValue:
    """The expression after the equals sign of a property's declaration."""

    def __init__(self, begin, end):
        self.begin, self.end = begin, end

    def holds(self, other):
        return self.begin <= other.begin and other.end <= self.end

    def choice(self, copies, original):
        for switch, copy in copies:
            yield f"hybridFlaw({switch}) ? (\n", None
            yield copy, switch
            yield "\n) : ", None
        yield "(" + original + ")", None


def number(flaw):
    """Returns the number of a flaw's switch, which does not depend on the other flaws."""
    return zlib.crc32(flaw["name"].encode()) >> 2 or 1


def braces(text):
    """Returns the pairs of braces, or None if they do not fit."""
    pairs, opened = [], []
    for mark in re.finditer(r"[{}]", code(text)):
        if mark.group(0) == "{":
            opened.append(mark.start())
        elif not opened:
            return None
        else:
            pairs.append((opened.pop(), mark.start()))
    return None if opened else pairs


def header(text, opening, closing):
    """Returns the declaration or statement before a brace.

    Its first line is indented like the closing brace, as the formatter does it.
    """
    begin = text.rfind("\n", 0, opening) + 1
    if "\n" not in text[opening:closing]:
        return code(text)[begin:opening]
    line = text.rfind("\n", 0, closing) + 1
    indent = re.match(r"\s*", text[line:closing + 1]).group(0)
    while begin > 0:
        first = code(text)[begin:opening]
        if re.match(r"\s*", first).group(0) == indent and not CONTINUED.match(first):
            break
        begin = text.rfind("\n", 0, begin - 1) + 1
    return code(text)[begin:opening]


def body(text, opening, closing):
    """Returns the body of a function, accessor or computed property, or None if the braces hold anything else."""
    head = header(text, opening, closing)
    if any(head.count(left) != head.count(right) for left, right in ("()", "[]", "{}")):
        return None
    if FUNCTION.match(head):
        result = re.search(r"->\s*(.*)$", re.sub(r"\([^()]*\)", "", head), re.DOTALL)
        return Body(opening + 1, closing, bool(result) and result[1].strip() != "Void")
    accessor = ACCESSOR.match(head)
    if accessor:
        return Body(opening + 1, closing, accessor[1] == "get")
    inside = code(text)[opening + 1:closing]
    # A closure with parameters is copied with what it is in.
    if VARIABLE.match(head) and not ACCESSORS.match(inside) and not re.match(r"[^\n]*\bin\s*\n", inside):
        return Body(opening + 1, closing, True)
    return None


def masked(text):
    """Returns the text with blanks in place of comments and lines in place of literals."""
    return NOT_CODE.sub(lambda found: (" " if found.group(0).startswith("/") else "_") * len(found.group(0)), text)


def is_single(text):
    """True if the text of a body is one statement or expression."""
    lines = [line for line in masked(text).split("\n") if line.strip()]
    if not lines:
        return False
    indents = [len(line) - len(line.lstrip()) for line in lines]
    return not any(indent <= indents[0] and not CONTINUED.match(line) for line, indent in
                   zip(lines[1:], indents[1:])) and ";" not in masked(text)


def with_return(text):
    """Returns the text of a body, with a `return` that its only expression may lack."""
    plain = code(text)
    if not is_single(text) or STATEMENT.match(plain) or CHOICE.match(plain) and re.search(r"\breturn\b", plain):
        return text
    start = re.search(r"\S", masked(text)).start()
    return text[:start] + "return " + text[start:]


def changes(before, after):
    """Returns where two texts differ: ranges of the first one, and what replaces them."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    found = []
    for kind, first, last, new_first, new_last in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if kind == "equal":
            continue
        removed, added = "".join(old[first:last]), "".join(new[new_first:new_last])
        same = len(os.path.commonprefix([removed, added]))
        ending = len(os.path.commonprefix([removed[same:][::-1], added[same:][::-1]]))
        begin = len("".join(old[:first]))
        found.append((begin + same, begin + len(removed) - ending, added[same:len(added) - ending]))
    return found


def changed(text, part, differences):
    """Returns the text of a part of a file, with the changes that are in it."""
    result, position = "", part.begin
    for begin, end, replacement in differences:
        if part.begin <= begin and end <= part.end:
            result += text[position:begin] + replacement
            position = end
    return result + text[position:part.end]


def initial_value(text, begin, end):
    """Returns the initial value that holds a range of a file, or None."""
    plain = code(text)
    start = plain.rfind("\n", 0, begin) + 1
    while start > 0 and CONTINUED.match(plain, start):
        start = plain.rfind("\n", 0, start - 1) + 1
    found = INITIALIZED.match(plain, start)
    if not found or found.end() > begin:
        return None
    finish = plain.find("\n", end)
    indent = len(found[1])
    while (line := re.compile(r"\n( *)\S").match(plain, finish)) and (
            len(line[1]) > indent or CONTINUED.match(plain, finish + 1)):
        finish = plain.find("\n", finish + 1)
    value = plain[found.end():finish]
    if "{" in value or any(value.count(left) != value.count(right) for left, right in ("()", "[]")):
        return None
    return InitialValue(found.end(), finish)


def parts(text, differences):
    """Returns the smallest bodies and initial values that hold the changes to a file; None if they do not hold all."""
    pairs, found = braces(text) or [], []
    for begin, end, _ in differences:
        enclosing = sorted((pair for pair in pairs if pair[0] < begin and end <= pair[1]), reverse=True)
        candidates = filter(None, (body(text, *pair) for pair in enclosing))
        part = next((part for part in candidates if braces(changed(text, part, differences)) is not None),
                    None) or initial_value(text, begin, end)
        if not part:
            return None
        found.append(part)
    return found


class SwitchedFile:
    """A source file with its flaws behind switches."""

    def __init__(self, text, flawed):
        """Takes the text, and the flawed texts by the numbers of the flaws."""
        differences = {switch: changes(text, after) for switch, after in flawed.items()}
        found = {part.begin: part for each in differences.values() for part in parts(text, each)}
        # What is inside of another part is copied with it.
        outer = [part for part in found.values()
                 if not any(other is not part and other.holds(part) for other in found.values())]
        self.text = f"internal import {MODULE}\n"
        # Ranges of offsets, each with the flaws to which the compiler's errors in it belong.
        self._ranges = []
        written = 0
        for part in sorted(outer, key=lambda part: part.begin):
            original = text[part.begin:part.end]
            copies = [(switch, copy) for switch, each in differences.items()
                      if (copy := changed(text, part, each)) != original]
            self.text += text[written:part.begin]
            first = len(self.text)
            for piece, switch in part.choice(copies, original):
                if switch:
                    self._ranges.append((len(self.text), len(self.text) + len(piece), [switch]))
                self.text += piece
            self._ranges.append((first, len(self.text), [switch for switch, _ in copies]))
            written = part.end
        self.text += text[written:]

    def blamed(self, line):
        """Returns the flaws to which an error in a line belongs: one, those of a body, or all of the file."""
        offset = len("".join(self.text.splitlines(keepends=True)[:line - 1]))
        ending = len("".join(self.text.splitlines(keepends=True)[:line]))
        for begin, end, switches in self._ranges:
            if begin < ending and offset < end:
                return switches
        return sorted({switch for _, _, switches in self._ranges for switch in switches})


def can_switch(before, after):
    """True if all of a flaw's changes are in bodies and initial values."""
    return all(parts(before[path], changes(before[path], after[path])) for path in before)


def additions():
    """Returns the texts of the files with which a copied package gets the switch, by path."""
    folder, texts = os.path.join(os.path.dirname(__file__), "switch"), {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            with open(path) as file:
                texts[os.path.join(FOLDER, os.path.relpath(path, folder))] = file.read()
    with open(os.path.join(ROOT, "Package.swift")) as file:
        return texts | {"Package.swift": file.read() + PACKAGE_ADDITION}
