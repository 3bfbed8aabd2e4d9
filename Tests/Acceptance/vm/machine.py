# SPDX-License-Identifier: Apache-2.0
"""One guest: booted, or restored from its state after a boot; commands in it; its end.

Software emulation only, so that it is the same everywhere and needs no privileges. No network device: commands use a
virtio port, and the host's folders are mounted with 9p.
"""
import hashlib
import json
import os
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from failure import Unavailable
from harness.programs import Program
from harness.waiting import poll
from qemu import Monitor

EMULATOR = "qemu-system-x86_64"
# The emulated VPGATHERDD of AVX2 reads from wrong addresses, which crashes Chromium's GPU process.
PROCESSOR = "max,la57=off,avx2=off"
# 141 is CMPXCHG16B: when emulated, it sometimes left wrong flags in the kernel, which then panicked. With it cleared
# the kernel does not use it; programs still may.
KERNEL_ARGUMENTS = ("console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off audit=0 apparmor=0 init_on_alloc=0 "
                    "no_timer_check tsc=reliable random.trust_cpu=on clearcpuid=141")

# 4 ns for each instruction; an idle guest waits as usual.
COUNTED_CLOCK = ("-icount", "shift=2,align=off,sleep=on")


class Machine:
    """A guest that runs from `__enter__` to `__exit__`; everything that it writes outside `results` is lost then.

    - `programs`, `tests`, `deploy`: folders of the host, read-only at /mnt/programs, /mnt/tests and /mnt/deploy;
      the last two are those of `repository`.
    - `results`: a folder of the host, writable at /mnt/results.
    - `counted`: the guest has one processor, and its clock counts instructions: it stands still while the host has no time
      for the guest.
    - `tpm`: an EmulatedTPM. Such a guest is always booted, because a saved state would lack its TPM.
    """

    def __init__(self, image, programs, repository, results, cold=False, processors=2, counted=False, tpm=None):
        self._image, self._tpm = image, tpm
        self._processors = 1 if counted else processors
        self._clock = COUNTED_CLOCK if counted else ()
        self._shares = {"programs": programs, "tests": repository / "Tests", "deploy": repository / "deploy",
                        "results": results}
        self._cold = cold or tpm is not None
        self._folder = self._qemu = self._port = None

    def _arguments(self):
        folder = self._folder
        shares = []
        for name, path in self._shares.items():
            readonly = "off" if name == "results" else "on"
            escaped = str(path).replace(",", ",,")
            shares += ["-fsdev", f"local,id={name},path={escaped},security_model=none,readonly={readonly}",
                       "-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}"]
        return [
            EMULATOR, "-accel", f"tcg,thread={'single' if self._clock else 'multi'},tb-size={self._image.kind.code_mib}",
            *self._clock, "-machine", "pc,usb=off",
            "-cpu", PROCESSOR, "-smp", str(self._processors), "-m", str(self._image.kind.memory_mib), "-nodefaults",
            "-no-user-config", "-display", "none", "-no-reboot", "-nic", "none", "-rtc", "base=utc",
            "-serial", f"file:{folder}/console",
            "-qmp", f"unix:{folder}/qmp,server=on,wait=off",
            # Notifies the guest's kernel of the restore, so that its random numbers are new each time.
            "-device", "vmgenid,guid=auto", "-device", "virtio-rng-pci",
            "-kernel", str(self._image.kernel), "-initrd", str(self._image.initramfs), "-append", KERNEL_ARGUMENTS,
            "-drive", f"file={self._image.disk},if=virtio,format=raw,readonly=on",
            "-chardev", f"socket,id=host,path={folder}/port,server=on,wait=off",
            "-device", "virtio-serial-pci", "-device", "virtserialport,chardev=host,name=org.hybrid.host", *shares,
            *(self._tpm.arguments if self._tpm else ())]

    @property
    def _state(self):
        """Path of the guest's saved state; the name contains what it depends on."""
        version = subprocess.run([EMULATOR, "--version"], capture_output=True, text=True, check=True).stdout
        inputs = f"{version}{Path(__file__).read_text()}{self._processors}{self._clock}"
        digest = hashlib.sha256(inputs.encode()).hexdigest()[:16]
        return self._image.folder / f"state-{digest}"

    @property
    def is_prepared(self):
        return self._state.exists()

    def prepare(self):
        """Boots the guest and saves its state."""
        self._start([])
        try:
            if self.run(self._image.kind.ready):
                raise Unavailable(f"the guest did not boot; its console ends: {self.console()}")
            self._hang_up()
            new = self._state.with_suffix(".new")
            Monitor(self._folder / "qmp", self._is_alive).save(f"cat > {shlex.quote(str(new))}")
            new.rename(self._state)
        finally:
            self.stop()

    def __enter__(self):
        self._start([] if self._cold else ["-incoming", f"exec:cat {shlex.quote(str(self._state))}"])
        try:
            Monitor(self._folder / "qmp", self._is_alive).wait_until_running()
            self.run(["date", "-s", f"@{time.time():.3f}"], quiet=True)
            for name in self._shares:
                options = "trans=virtio,version=9p2000.L,msize=512000" + ("" if name == "results" else ",cache=mmap,ro")
                self.run(["mount", "-t", "9p", "-o", options, name, f"/mnt/{name}"], quiet=True)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def _start(self, incoming):
        # Sockets need short paths.
        self._folder = Path(tempfile.mkdtemp(prefix="hybrid-vm-", dir="/tmp"))
        self._qemu = Program("QEMU", [*self._arguments(), *incoming], log=self._folder / "qemu",
                             environment=dict(os.environ))

    def _is_alive(self):
        return self._qemu.status is None

    def _connect(self):
        if self._port is None:
            port = socket.socket(socket.AF_UNIX)

            def connected():
                if not self._is_alive():
                    raise Unavailable(f"QEMU {self._qemu.ending}: {self._qemu.said().strip()}")
                return port.connect_ex(str(self._folder / "port")) == 0

            if not poll(connected, 60):
                raise Unavailable("QEMU opened no port to the guest")
            self._port = port
        return self._port

    def _hang_up(self):
        if self._port is not None:
            self._port.close()
            self._port = None

    def run(self, command, seconds=300, quiet=False):
        """Runs a command as root; prints its output and returns its exit status.

        - `quiet`: the command must succeed, and its output is not printed.
        """
        port = self._connect()
        data = json.dumps({"run": ["timeout", "--kill-after=5", str(seconds), *map(str, command)]}).encode()
        port.sendall(struct.pack(">I", len(data)) + data)
        said = ""
        while True:
            message = self._receive(port, seconds + 60)
            if "status" in message:
                if quiet and message["status"]:
                    raise Unavailable(f"in the guest: {' '.join(map(str, command))}: {said.strip()}")
                return message["status"]
            if quiet:
                said += message["text"]
            else:
                print(message["text"], end="", file=sys.stderr if message["error"] else sys.stdout, flush=True)

    def _receive(self, port, seconds):
        port.settimeout(seconds)
        try:
            length, = struct.unpack(">I", self._read(port, 4))
            return json.loads(self._read(port, length))
        except TimeoutError:
            raise Unavailable(f"no output of the guest for {seconds} s; its console ends: {self.console()}") from None

    def _read(self, port, count):
        data = b""
        while len(data) < count:
            piece = port.recv(count - len(data))
            if not piece:
                raise Unavailable(f"the guest is gone; QEMU {self._qemu.ending}; its console ends: {self.console()}")
            data += piece
        return data

    def console(self):
        """Returns the last lines of the guest's console."""
        try:
            lines = (self._folder / "console").read_text(errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(lines[-20:])

    def stop(self):
        self._hang_up()
        if self._qemu is not None:
            self._qemu.stop()
            self._qemu = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
