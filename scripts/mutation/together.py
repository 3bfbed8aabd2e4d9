# SPDX-License-Identifier: Apache-2.0
"""The copy with all flaws that can be compiled together, each behind its switch."""
import collections
import glob
import hashlib
import json
import os
import re
import shutil
import sys

from .copies import FAILED, LOG, WIDTH, Copy, catcher, lock
from .flaws import ROOT, Unusable, flawed_files
from .results import WORK
from .switches import SwitchedFile, additions, can_switch, number

ERROR = re.compile(r"^(/.*?\.swift):(\d+):\d+: error:", re.MULTILINE)
# Flaws whose copies did not compile.
ALONE = os.path.join(WORK, "alone.json")
# A file whose copies still do not compile after so many builds gets none.
ROUNDS = 4


class Together:
    """The flaws behind switches, and their tests."""

    def __init__(self, flaws):
        self._copy = Copy(os.path.join(WORK, "together"))
        self._flaws, self._before, self._after = {}, {}, {}
        alone = self._read_alone()
        for flaw in flaws:
            try:
                before, after = flawed_files(flaw, ROOT)
            except Unusable:
                continue
            switch = number(flaw)
            if switch in self._flaws:
                sys.exit(f"mutation-check: rename “{flaw['name']}”: its switch has the number of another one's")
            if can_switch(before, after) and self._key(flaw, before) not in alone:
                self._flaws[switch] = flaw, before
                self._before |= before
                for path, text in after.items():
                    self._after.setdefault(path, {})[switch] = text

    @staticmethod
    def _read_alone():
        try:
            with open(ALONE) as file:
                return set(json.load(file))
        except FileNotFoundError:
            return set()

    @staticmethod
    def _key(flaw, before):
        return hashlib.sha256(json.dumps([flaw, sorted(before.items())]).encode()).hexdigest()

    def holds(self, flaw):
        return number(flaw) in self._flaws

    def compile(self):
        """Builds the copy, leaves out what does not compile, and gives this run programs of its own.

        Runs of several parts at a time would read each other's flaw, which is named beside the programs.
        """
        with lock():
            self._compile()
            built = os.path.realpath(os.path.join(self._copy.scratch, "debug"))
            for folder in glob.glob(built + "-run-*"):
                process = folder.rpartition("-")[2]
                # A run that crashed may have had the same number.
                if process == str(os.getpid()) or not os.path.exists(f"/proc/{process}"):
                    shutil.rmtree(folder)
            self._programs = f"{built}-run-{os.getpid()}"
            os.mkdir(self._programs)
            for entry in os.scandir(built):
                if entry.is_file(follow_symlinks=False) and os.access(entry, os.X_OK):
                    os.link(entry, os.path.join(self._programs, entry.name))

    def _compile(self):
        rounds = collections.Counter()
        while True:
            files = {path: SwitchedFile(self._before[path], texts) for path, texts in self._after.items() if texts}
            self._copy.update(additions() | {os.path.relpath(path, ROOT): file.text for path, file in files.items()})
            print(f"mutation-check: building with {len(self._flaws)} flaws behind switches", flush=True)
            status, output = self._copy.build("000-together")
            if status == 0:
                return
            blamed = set()
            errors = collections.defaultdict(set)
            for path, line in ERROR.findall(output):
                errors[os.path.join(ROOT, os.path.relpath(path, self._copy.tree))].add(int(line))
            for path in errors.keys() & files.keys():
                rounds[path] += 1
                blamed |= {switch for line in errors[path] for switch in files[path].blamed(line)}
                if rounds[path] >= ROUNDS:
                    blamed |= set(self._after[path])
            if not blamed:
                sys.exit(f"mutation-check: the copy does not build; see {LOG}/000-together.log")
            self._leave_out(blamed)

    def _leave_out(self, switches):
        alone = self._read_alone()
        for switch in switches:
            flaw, before = self._flaws.pop(switch)
            alone.add(self._key(flaw, before))
            for texts in self._after.values():
                texts.pop(switch, None)
            print(f"mutation-check: does not compile together with others: {flaw['name']}", flush=True)
        with open(ALONE, "w") as file:
            json.dump(sorted(alone), file)

    def test(self, name, flaw, limit, chosen):
        """Runs tests with a flaw, or none, until the first fails. Returns what `catcher` does."""
        with open(os.path.join(self._programs, "flaw"), "w") as file:
            file.write(str(number(flaw) if flaw else 0))
        command = [*self._copy.program(self._programs), *WIDTH, *chosen]
        return catcher(*self._copy.run(name, None, command, limit, FAILED))
