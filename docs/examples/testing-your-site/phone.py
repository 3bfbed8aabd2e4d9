# SPDX-License-Identifier: Apache-2.0
"""The phone in a test: `hybrid-lab phone`, which watches the screen for the browser's code and answers by a script."""
import json
import os
import subprocess
import tempfile
from pathlib import Path


# What is left of a run, for whoever looks for the cause of a failure.
EVIDENCE = Path("evidence").absolute()
EVIDENCE.mkdir(exist_ok=True)

# For a page just opened: a new Chromium that is asked for a passkey before it has found the radio shows no code.
RADIO_IS_FOUND = """async () => {
    const end = Date.now() + 30000;
    while (!(await PublicKeyCredential.getClientCapabilities()).hybridTransport) {
        if (Date.now() > end) throw new Error("Chromium has found no Bluetooth");
        await new Promise(again => setTimeout(again, 50));
    }
}"""


def chromium_switches(log):
    """What Chromium needs to find the lab's relay, and a log of what it does; the rest stands in the environment."""
    if "HYBRID_LAB_CHROMIUM_ARGS" not in os.environ:
        raise RuntimeError("there is no lab; run the tests by: hybrid-lab run -- xvfb-run -a pytest")
    return [*json.loads(os.environ["HYBRID_LAB_CHROMIUM_ARGS"]),
            "--enable-logging", f"--log-file={EVIDENCE / log}", "--vmodule=device_event_log*=2"]


class Phone:
    """Answers one code for each script: `with Phone("deny") as phone: …`, and then `phone.requests` is what came.

    At the end of the block it must have done what its script says, or the block fails with what went wrong.
    """

    def __init__(self, *scripts, passkeys, seconds=60):
        """`passkeys` is the file that keeps them, for the next phone to have."""
        self._command = ["hybrid-lab", "phone", "--screen", "--json", "--timeout", str(seconds),
                         "--passkeys", str(passkeys)]
        for script in scripts or ("approve",):
            self._command += ["--script", script]
        self._seconds = seconds

    def __enter__(self):
        self._report = tempfile.NamedTemporaryFile(prefix="phone-", suffix=".jsonl")
        self._process = subprocess.Popen(self._command, stdout=self._report)
        return self

    def __exit__(self, kind, _error, _trace):
        if kind is not None:
            self._process.terminate()
        try:
            self._process.wait(self._seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
        status = self._process.wait()
        self.events = events(self._report.name)
        self._report.close()
        if kind is None:
            assert status == 0, f"the phone ended with status {status}; its report: {self.events}"

    @property
    def requests(self):
        """What it was asked, in order: `command`, `rp_id`, `allow`, `exclude`, `user`, `extensions` and more."""
        return [event for event in self.events if event["event"] == "request"]


def events(report):
    """A phone's report so far, as dictionaries."""
    return [json.loads(line) for line in Path(report).read_text().splitlines()]
