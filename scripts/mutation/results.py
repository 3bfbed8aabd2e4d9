# SPDX-License-Identifier: Apache-2.0
"""Results of flaws, kept under hashes of what they depend on."""
import functools
import hashlib
import json
import os
import re
import subprocess

from .flaws import ROOT

WORK = os.path.join(ROOT, ".build-mutation")
RESULTS = os.path.join(WORK, "results")
# Parts of the tree that results depend on, besides targets.
ALL_INPUTS = ("Package.swift", "Sources/", "Tests/", "docs/", "deploy/", "Fuzz/", "README.md", "ARCHITECTURE.md")
SHARED_INPUTS = ("Package.swift", "Tests/Vectors/", "Tests/Phone/CredentialExchange/", "Tests/Phone/VaultFormat/",
                 "Fuzz/Corpus/", "Fuzz/Crashes/")
# A test target that mentions one of these starts programs, or reads files of the whole tree.
WHOLE_TREE = re.compile(r"\b(?:BuildFolder|RelayProgram|RunningProgram)\b|\"(?:Sources|docs|deploy)/")


@functools.cache
def targets():
    """Returns the descriptions of the package's targets by name."""
    environment = {name: value for name, value in os.environ.items() if name != "HYBRID_ONLY"}
    command = ["swift", "package", "--scratch-path", os.path.join(WORK, "build"), "describe", "--type", "json"]
    described = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout
    return {target["name"]: target for target in json.loads(described)["targets"]}


@functools.cache
def closure(target):
    """Returns the target and all targets of the package that it depends on."""
    return {target}.union(*map(closure, targets()[target].get("target_dependencies", [])))


@functools.cache
def needs_all(target):
    """True if the results of a test target depend on the whole tree."""
    folder = os.path.join(ROOT, targets()[target]["path"])
    return any(WHOLE_TREE.search(open(os.path.join(parent, name), errors="replace").read())
               for parent, _, names in os.walk(folder) for name in names)


def inputs_hash(target, hashes):
    """Returns a hash of the files that the results of a test target depend on."""
    wanted, others = ALL_INPUTS, ("Tests/Mutations/", "Tests/Acceptance/")
    if target and not needs_all(target):
        wanted = SHARED_INPUTS + tuple(targets()[name]["path"] + "/" for name in closure(target))
    elif target:
        paths = (targets()[name]["path"] + "/" for name in targets().keys() - closure(target))
        others += tuple(path for path in paths if path.startswith("Tests/"))
    digest = hashlib.sha256()
    for path in sorted(hashes):
        if path.startswith(wanted) and not path.startswith(others):
            digest.update(path.encode() + b"\0" + hashes[path])
    return digest.hexdigest()


def listed_files():
    """Returns the paths of the files that git knows or would add."""
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split("\0")
    return sorted(path for path in set(listed) if path and os.path.lexists(os.path.join(ROOT, path)))


def tree_hashes():
    """Returns the hashes of the listed files, by path."""
    hashes = {}
    for path in listed_files():
        file = os.path.join(ROOT, path)
        if os.path.islink(file):
            content = os.readlink(file).encode()
        else:
            with open(file, "rb") as opened:
                content = opened.read()
        if path.endswith(".swift"):
            # Comments have no results.
            content = re.sub(rb"^[ \t]*//.*\n", b"", content, flags=re.MULTILINE)
        hashes[path] = hashlib.sha256(content).digest()
    return hashes


class Results:
    """Results of earlier runs, one file each."""

    def __init__(self):
        self._hashes, self._inputs = tree_hashes(), {}
        os.makedirs(RESULTS, exist_ok=True)

    def _path(self, flaw):
        target = flaw["tests"]
        if target not in self._inputs:
            self._inputs[target] = inputs_hash(target, self._hashes)
        # The suite only says what is tried first.
        meaning = {key: value for key, value in flaw.items() if key != "suite"}
        key = hashlib.sha256((self._inputs[target] + json.dumps(meaning, sort_keys=True)).encode()).hexdigest()
        return os.path.join(RESULTS, key[:32] + ".json")

    def kept(self, flaw):
        try:
            with open(self._path(flaw)) as file:
                return json.load(file)
        except FileNotFoundError:
            return None

    def is_final(self, flaw):
        """True unless the flaw still needs a test: its own, or all of them."""
        result = self.kept(flaw)
        return result is not None and not result.get("passed")

    def keep(self, flaw, **result):
        # Another run may write the same result.
        new = f"{self._path(flaw)}.{os.getpid()}"
        with open(new, "w") as file:
            json.dump(result, file)
        os.rename(new, self._path(flaw))
        return result

    def forget(self):
        for name in os.listdir(RESULTS):
            os.remove(os.path.join(RESULTS, name))


def unflawed(target):
    """Returns the key of the result for the tests of the copy without a flaw."""
    return {"name": "no flaw", "tests": target}
