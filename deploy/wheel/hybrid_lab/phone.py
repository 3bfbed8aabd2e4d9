# SPDX-License-Identifier: Apache-2.0
"""The phone of a test: `hybrid-lab phone`, which reads the browser's code from the screen and responds as it is told."""
import json
import subprocess
import tempfile
from pathlib import Path

from hybrid_lab import environment, program
from hybrid_lab.processes import end, start


class PhoneError(AssertionError):
    """The phone did not do what the test told it, for instance because no code was on the screen in time."""


class Phone:
    """A phone with its own passkeys. Each call tells it what to do with the next code on the screen."""

    def __init__(self, folder, seconds=60):
        """`folder` gets the passkeys and the reports; `seconds` is the time to wait for a code, and for its end."""
        self.seconds = seconds
        self._folder = Path(folder)
        self._process = None
        self._reports = []

    def approve(self, **options):
        """Agrees to the next request, as a user does who types the right PIN."""
        self.script("approve", **options)

    def deny(self, **options):
        """Declines the next request."""
        self.script("deny", **options)

    def script(self, *scripts, url=None):
        """Follows these scripts, one for each code; see "What a phone can do" in docs/testing-your-site.md.

        The previous scripts must be complete, or this waits for their end. `url` is a code's text, which is then not read
        from the screen.
        """
        self.wait()
        command = [program(), "phone", "--json", "--timeout", str(self.seconds),
                   "--passkeys", str(self._folder / "passkeys.json")]
        command += ["--screen"] if url is None else ["--url", url]
        for script in scripts:
            command += ["--script", script]
        report = self._folder / f"phone-{len(self._reports) + 1}.jsonl"
        self._reports.append(report)
        with report.open("wb") as output:
            self._process = start(command, env=environment(), stdout=output, stderr=subprocess.DEVNULL)

    def wait(self):
        """Waits until the scripts are complete; raises PhoneError with the cause if they can't be."""
        if self._process is None:
            return
        process, self._process = self._process, None
        try:
            # The program ends by itself before that.
            status = process.wait(3 * self.seconds + 10)
        except subprocess.TimeoutExpired:
            end(process)
            raise PhoneError(f"the phone did not finish in time; its report:\n{self.report}") from None
        if status != 0:
            raise PhoneError(f"{self._cause() or f'the phone ended with status {status}'}; its report:\n{self.report}")

    def close(self):
        """Ends what the phone does, complete or not."""
        if self._process is not None:
            end(self._process)
            self._process = None

    @property
    def events(self):
        """All that the phone has reported in this test, as dictionaries."""
        # A line without its end is still being written.
        lines = [line for report in self._reports for line in report.read_text(errors="replace").splitlines(keepends=True)]
        return [json.loads(line) for line in lines if line.endswith("\n")]

    @property
    def requests(self):
        """The requests in order: `command`, `rp_id`, `allow`, `exclude`, `user`, `extensions` and more."""
        return [event for event in self.events if event["event"] == "request"]

    @property
    def report(self):
        """The events as lines of JSON."""
        return "\n".join(json.dumps(event) for event in self.events)

    def _cause(self):
        errors = [event for event in self.events if event["event"] == "error"]
        return errors and ". ".join(str(errors[-1][part]) for part in ("message", "remedy") if errors[-1].get(part))
