# SPDX-License-Identifier: Apache-2.0
"""Simulated prompts of hybrid-key: what it tells them, and the answers of their user."""
import json
from pathlib import Path

from harness.waiting import Failed

PROGRAM = Path(__file__).with_name("prompt")


class Prompts:
    """All prompts of a run, in a folder."""

    def __init__(self, folder, waiting):
        self._folder, self._waiting, self._returned = folder, waiting, set()
        folder.mkdir(mode=0o700)
        self.environment = {"HYBRID_PROMPT": str(PROGRAM), "PROMPT_FOLDER": str(folder)}

    @property
    def count(self):
        """The number of prompts so far."""
        return len(list(self._folder.glob("*.jsonl")))

    def forget(self):
        """Counts all prompts so far as returned."""
        self._returned |= {path.stem for path in self._folder.glob("*.jsonl")}

    def next(self, state="scan", program=None, seconds=60):
        """Waits for a prompt in a state that has not been returned before; fails if the program ends meanwhile."""
        def look():
            if program and program.status is not None:
                raise Failed(f"expected a prompt; {program.name} {program.ending}: {program.said()}")
            new = (Prompt(path) for path in self._folder.glob("*.jsonl") if path.stem not in self._returned)
            return next((prompt for prompt in new if state in prompt.states), None)

        prompt = self._waiting.until(f"a prompt in the state {state}", look, seconds)
        self._returned.add(prompt.name)
        return prompt


class Prompt:
    """A run of the simulated prompt, whose name is its process ID."""

    def __init__(self, path):
        self.name, self.path = path.stem, path

    @property
    def events(self):
        lines = self.path.read_text(encoding="utf-8").split("\n")[:-1]
        return [json.loads(line) for line in lines]

    @property
    def code(self):
        return next((event["text"] for event in self.events if event["event"] == "qr"), None)

    @property
    def request(self):
        first = self.events[0]
        if first["event"] != "request":
            raise Failed(f"expected a prompt that begins with the request; found {first}")
        return first

    @property
    def states(self):
        """The states of the ceremony so far, such as `scan`."""
        return [event["state"] for event in self.events if event["event"] == "state"]

    @property
    def is_gone(self):
        state = Path(f"/proc/{self.name}/stat")
        try:
            return state.read_text().rpartition(")")[2].split()[0] in "ZX"
        except OSError:
            return True

    def answer(self, word):
        """Answers as the user: `cancel`, or `proceed`."""
        written = self.path.with_suffix(".writing")
        written.write_text(f"{word}\n")
        written.rename(self.path.with_suffix(".answer"))
