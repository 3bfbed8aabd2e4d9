# SPDX-License-Identifier: Apache-2.0
"""Devices with a vault, and the TPMs that they use."""
import shutil
from pathlib import Path

from harness.environment import TestEnvironment
from harness.programs import brief
from harness.waiting import Waiting, must
from software_tpm import SoftwareTPM

PINENTRY = Path(__file__).with_name("tpm_pinentry")
PIN = "correct horse"
PASSPHRASE = "glider museum ochre tactful banjo vermin"


class TPMEnvironment(TestEnvironment):
    """A TPM, and any number of devices, each with a home of its own."""

    # The time limit of a program.
    seconds = 60
    # The seconds that the TPM may add to an unlock.
    allowance = 1
    # Put before our programs.
    account = ()

    def __init__(self, programs, folder, signals, is_thorough):
        super().__init__()
        self.folder, self.waiting, self.programs = folder, Waiting(signals), programs
        self.signals = signals
        self.is_thorough = is_thorough
        self._number = 0

    def start(self):
        self.tpm = self.new_tpm()
        self._original = self.new_device()
        self._original.succeeds("init", secrets=[PIN])
        self._original.succeeds("add-passphrase", secrets=[PIN, PASSPHRASE])

    def number(self):
        """Returns the next number for a name."""
        self._number += 1
        return self._number

    def new_tpm(self, **parameters):
        return self.keep(SoftwareTPM(self, f"tpm{self.number()}", **parameters))

    def new_device(self, tpm=None):
        """Returns a device without a vault."""
        home = self.folder.scratch / f"device{self.number()}"
        home.mkdir(mode=0o700)
        return self.device(home, tpm)

    def device(self, home, tpm=None):
        """Returns the device whose files are in a folder."""
        return Device(self, home, tpm or self.tpm)

    def device_with_vault(self, tpm=None):
        """Returns a device with a vault that has a PIN and a passphrase.

        It is a copy, because new slots take seconds.
        """
        return self._original.copy(tpm)

    def device_with_tpm(self, tpm=None):
        """Returns a device whose PIN the TPM protects."""
        device = self.device_with_vault(tpm)
        device.succeeds("tpm", "enable", secrets=[PIN])
        return device

    def after_case(self, name, failed):
        left = self.tpm.leftovers()
        self.tpm.flush()
        return [f"handles left in the TPM:\n{left}"] if left and not name.startswith("kill-") else []


class Device:
    """A user's home with a vault; `prefix` is put before the program, for example a tracer."""

    def __init__(self, environment, home, tpm):
        self.environment, self.home, self.tpm = environment, home, tpm
        self.account = environment.account
        self.vault = home / "vault"
        self.log = environment.folder.path("pinentry.log")

    @property
    def state(self):
        """The folder of the local state of the vault."""
        found = [path for path in (self.home / "state" / "hybrid").iterdir() if len(path.name) == 32]
        must(len(found) == 1, f"expected the state of one vault; found {found}")
        return found[0]

    @property
    def slots(self):
        """The names of the slots of this device."""
        return sorted(path.name for path in self.state.iterdir() if path.name in ("pin", "tpm"))

    def variables(self, tpm=None):
        tpm = tpm or self.tpm
        return self.environment.folder.environment(
            XDG_STATE_HOME=str(self.home / "state"), PERSON_LOG=str(self.log),
            PERSON_SECRETS=str(self.home / "secrets"), HYBRID_TPM=getattr(tpm, "address", tpm))

    def run(self, *command, secrets=(), tpm=None, prefix=(), program="vault"):
        """Runs a command of hybrid-auth to its end; the user types the secrets, one at each prompt."""
        (self.home / "secrets").write_text("".join(f"{secret}\n" for secret in secrets))
        options = ["--vault", str(self.vault)]
        if "status" not in command:
            options += ["--pinentry", str(PINENTRY)]
        self.environment.signals.check()
        return brief([*self.account, *prefix, str(self.environment.programs.auth), program, *command, *options],
                     environment=self.variables(tpm), check=False, seconds=self.environment.seconds)

    def succeeds(self, *command, **options):
        """Runs a command that must succeed; returns what it said."""
        done = self.run(*command, **options)
        must(done.returncode == 0, f"{command} ended with status {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def fails(self, status, text, *command, **options):
        """Runs a command that must fail with a status and a sentence that contains a text, on one line."""
        done = self.run(*command, **options)
        last = (done.stderr.strip().splitlines() or [""])[-1]
        must(done.returncode == status and text in last,
             f"expected {command} to end with status {status} and {text!r}; status {done.returncode}: {done.stderr}")
        return last

    def opens(self, pin=PIN, **options):
        """Opens the vault with the PIN."""
        return self.succeeds("list", secrets=[pin], program="passkeys", **options)

    def does_not_open(self, status, text, pins=(PIN,), **options):
        return self.fails(status, text, "list", secrets=pins, program="passkeys", **options)

    def copy(self, tpm=None):
        """Returns a copy of the device's disk."""
        home = self.environment.folder.scratch / f"device{self.environment.number()}"
        shutil.copytree(self.home, home, symlinks=True)
        return self.environment.device(home, tpm or self.tpm)
