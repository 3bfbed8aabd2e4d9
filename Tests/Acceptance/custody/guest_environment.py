# SPDX-License-Identifier: Apache-2.0
"""The TPM of a guest's kernel, and devices of an unprivileged user of the guest."""
from pathlib import Path

from harness.programs import brief
from tpm import TPM
from tpm_environment import TPMEnvironment

USER, GROUP = "ada", "tss"
RESULTS = Path("/mnt/results")
MANAGED, CHIP = Path("/dev/tpmrm0"), Path("/dev/tpm0")


class KernelTPM(TPM):
    """The TPM behind /dev/tpmrm0, the kernel's resource manager; /dev/tpm0 shows what is in the chip itself."""

    def __init__(self, environment, boot):
        super().__init__(environment, f"device:{MANAGED}", RESULTS / f"{boot}-tpm.log")

    def reset(self, tries=32, interval=600):
        """Forgets all wrong authorization values."""
        self.tool("tpm2_dictionarylockout", "--clear-lockout")
        self.limit(tries, interval)

    def leftovers(self):
        """The handles of objects and sessions in the chip."""
        return self.handles("transient", "loaded-session", "saved-session", address=f"device:{CHIP}")

    def flush(self):
        """Does nothing: the kernel flushes at the end of each program."""

    def clear(self):
        # The firmware has set a random password of the platform, as on a computer.
        self.tool("tpm2_clear", "-c", "lockout")


class GuestEnvironment(TPMEnvironment):
    """Devices that belong to a user in the group tss; the cases themselves run as root."""

    # The processor is emulated.
    seconds = 900
    # For each command the resource manager loads and saves all objects, and on a busy machine swtpm waits for the processor.
    allowance = 60
    account = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups")

    def __init__(self, programs, folder, signals, is_thorough, boot):
        super().__init__(programs, folder, signals, is_thorough)
        self._boot, self._tpm, self._sealed = boot, KernelTPM(self, boot), None

    def start(self):
        for path in (self.folder.root.parent, self.folder.root, self.folder.scratch):
            path.chmod(0o711)
        self.folder.path("pinentry.log").touch()
        for path in (self.folder.home, self.folder.sockets, self.folder.path("pinentry.log")):
            self._give(path)
        if self._boot == "first":
            super().start()
        else:
            self.tpm = self._tpm

    def _give(self, path):
        self.brief("chown", "-R", f"{USER}:{USER}", path)

    def brief(self, *command):
        """Runs a short command as root."""
        return brief([*map(str, command)], environment=self.folder.environment(), seconds=self.seconds).stdout

    def new_tpm(self, **parameters):
        """Returns the only TPM, without wrong authorization values."""
        self._tpm.reset(**parameters)
        return self._tpm

    def device(self, home, tpm=None):
        self._give(home)
        return super().device(home, tpm)

    def device_with_tpm(self, tpm=None):
        """Returns a copy of the same device each time, because new slots take minutes on a busy machine."""
        self._sealed = self._sealed or super().device_with_tpm(tpm)
        return self._sealed.copy()

    def save(self, device):
        """Saves a device's files for the next boots."""
        self.brief("tar", "-cf", RESULTS / "device.tar", "-C", device.home, ".")

    def saved(self):
        """Returns a device with the saved files."""
        device = self.new_device()
        self.brief("tar", "-xf", RESULTS / "device.tar", "-C", device.home)
        return device

    def after_case(self, name, failed):
        left = self.tpm.leftovers()
        if name != "tpm-kept":
            self.tpm.reset()
        return [f"handles left in the TPM:\n{left}"] if left else []
