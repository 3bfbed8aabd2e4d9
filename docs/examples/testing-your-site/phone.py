# SPDX-License-Identifier: Apache-2.0
"""The phone in a test: `hybrid-lab phone`, which reads the browser's code from the screen and responds as scripted."""
import json
import os
import subprocess
import tempfile
from pathlib import Path


# Files for the analysis of failures.
EVIDENCE = Path("evidence").absolute()
EVIDENCE.mkdir(exist_ok=True)

# For a new page: a new Chromium shows no code if a passkey is requested before it has found the radio.
RADIO_IS_FOUND = """async () => {
    const end = Date.now() + 30000;
    while (!(await PublicKeyCredential.getClientCapabilities()).hybridTransport) {
        if (Date.now() > end) throw new Error("Chromium has found no Bluetooth");
        await new Promise(again => setTimeout(again, 50));
    }
}"""


def chromium_switches(log):
    """Returns the switches for the lab's relay and for a log; all other settings are in the environment."""
    if "HYBRID_LAB_CHROMIUM_ARGS" not in os.environ:
        raise RuntimeError("there is no lab; run the tests with: hybrid-lab run -- xvfb-run -a pytest")
    return [*json.loads(os.environ["HYBRID_LAB_CHROMIUM_ARGS"]),
            "--enable-logging", f"--log-file={EVIDENCE / log}", "--vmodule=device_event_log*=2"]


class Phone:
    """Responds to one code per script: `with Phone("deny") as phone: …`; `phone.requests` then holds the requests.

    At the end of the block the scripts must be complete; otherwise the block fails with the cause.
    """

    def __init__(self, *scripts, passkeys, seconds=60):
        """`passkeys` is the file that stores passkeys for the next phone."""
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
        """The requests in order: `command`, `rp_id`, `allow`, `exclude`, `user`, `extensions` and more."""
        return [event for event in self.events if event["event"] == "request"]


def events(report):
    """Returns a phone's report so far, as dictionaries."""
    return [json.loads(line) for line in Path(report).read_text().splitlines()]
