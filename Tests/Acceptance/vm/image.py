# SPDX-License-Identifier: Apache-2.0
"""The guest's kernel and disk, built from Debian packages once and kept in the cache.

mmdebstrap unpacks the packages of guest/packages with the host's configuration for Debian's archive. The suite's kernel
is downloaded and unpacked, not installed: the guest needs only the modules of guest/modules, decompressed, because its
processor is emulated and slow. The guest with systemd has the files of desktop besides.
"""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from failure import Unavailable

GUEST, DESKTOP, BROWSERS, CAMERA = (Path(__file__).with_name(name) for name in ("guest", "desktop", "browsers", "camera"))
SUITES = {"trixie": "Debian 13, BlueZ 5.82", "bookworm": "Debian 12, BlueZ 5.66"}
# The unprivileged user that runs everything, and another one.
USER, OTHER = "ada", "ben"
# Units that would only cost time after each boot, or wait for a user.
MASKED = ("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "e2scrub_reap.service",
          "fstrim.timer", "getty@tty1.service", "man-db.timer", "proc-sys-fs-binfmt_misc.automount",
          "serial-getty@ttyS0.service", "ssh.service", "ssh.socket", "systemd-binfmt.service", "systemd-firstboot.service",
          "systemd-pstore.service")
# Run by mmdebstrap in the new root; the host's apt settings apply there.
KERNEL_HOOK = r"""chroot "$1" sh -ec '
    kernel=$(apt-cache depends linux-image-amd64 | sed -n "s/.*Depends: \(linux-image-[0-9]\)/\1/p" | head -n 1)
    mkdir /kernel
    cd /tmp
    apt-get download -qq "$kernel"
    dpkg-deb -x linux-image-*.deb /kernel
    rm linux-image-*.deb
'"""
# Folders of the host, below /mnt.
SHARES = ("programs", "tests", "deploy", "results")
LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*",
            "/usr/lib/udev/hwdb.d/*")


def words(path):
    """Returns the lines of a list without comments, each split into words."""
    return [line.split() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]


class Kind(NamedTuple):
    """A kind of guest."""

    # Folders with its files; later ones replace files of earlier ones, and extend the lists of packages and modules.
    folders: tuple
    # The first program on the root disk, with an argument.
    init: str
    memory_mib: int
    # The command that succeeds once the guest has booted.
    ready: tuple

    # MiB of translated code that QEMU keeps; browsers have much code.
    code_mib: int = 256

    def file(self, name):
        return next(path for folder in reversed(self.folders) if (path := folder / name).exists())

    def listed(self, name):
        return [line for folder in self.folders if (folder / name).exists() for line in words(folder / name)]


KINDS = {
    "bluez": Kind((GUEST,), "/bin/busybox init", 1024, ("true",)),
    # The command waits for the end of the boot; failed units are named on the console.
    "desktop": Kind((GUEST, DESKTOP), "/sbin/init", 3072, ("sh", "-c", "systemctl is-system-running --wait >/dev/null || {"
                                                           " systemctl --failed --no-legend --plain >&2; false; }")),
    "camera": Kind((GUEST, CAMERA), "/bin/busybox init", 1024, ("true",)),
    "browsers": Kind((GUEST, BROWSERS), "/bin/busybox init", 3072, ("true",), 1024),
}


def key(suite, kind):
    """Returns a key of all inputs of the image except Debian's updates."""
    digest = hashlib.sha256(suite.encode())
    files = (path for folder in kind.folders for path in sorted(folder.rglob("*")) if path.is_file())
    for path in [Path(__file__), *files]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


class Image:
    """The files `kernel`, `initramfs` and `disk` in a folder of the cache; `kind` is a name of KINDS."""

    def __init__(self, cache, suite, kind="bluez"):
        self.suite, self.name, self.kind = suite, kind, KINDS[kind]
        self.folder = Path(cache) / f"{suite}-{kind}-{key(suite, self.kind)}"
        self.kernel, self.initramfs, self.disk = (self.folder / n for n in ("kernel", "initramfs", "disk"))

    @property
    def exists(self):
        return self.folder.is_dir()

    def build(self, log):
        """Builds the image; the folder appears only when it is complete. Output of the tools goes to the file
        `log`.
        """
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=self.folder.parent) as work:
            work = Path(work)
            packages = [name for name, *_ in self.kind.listed("packages")]
            with open(work / "root.tar", "wb") as tar, open(log, "wb") as said:
                done = subprocess.run(
                    ["mmdebstrap", "--variant=minbase", "--format=tar", f"--include={','.join(packages)}",
                     "--skip=cleanup/apt", "--dpkgopt=force-unsafe-io",
                     *(f"--dpkgopt=path-exclude={path}" for path in LEFT_OUT),
                     *(f"--customize-hook=chroot \"$1\" useradd --create-home --shell /bin/bash {user}"
                       for user in (USER, OTHER)),
                     f"--customize-hook={KERNEL_HOOK}", self.suite, "-"],
                    stdin=subprocess.DEVNULL, stdout=tar, stderr=said, check=False)
                if done.returncode:
                    raise Unavailable(f"mmdebstrap could not build a root of {self.suite}; see {log}")
                # Without root, root's files exist only within one run of fakeroot, so a single program does everything.
                pretend = [] if os.geteuid() == 0 else ["fakeroot", "--"]
                done = subprocess.run([*pretend, sys.executable, __file__, str(work), self.name], stdin=subprocess.DEVNULL,
                                      stdout=said, stderr=said, check=False)
                if done.returncode:
                    raise Unavailable(f"the disk of {self.suite} could not be built; see {log}")
            (work / "image").rename(self.folder)


class Kernel:
    """An unpacked kernel package."""

    def __init__(self, folder):
        self._folder = folder
        if not (folder / "lib").exists():
            (folder / "lib").symlink_to("usr/lib")
        self.version = next((folder / "lib" / "modules").iterdir()).name
        self.file = folder / "boot" / f"vmlinuz-{self.version}"
        self._modules = folder / "lib" / "modules" / self.version
        subprocess.run(["depmod", "-b", folder, self.version], check=True)

    def needed_for(self, modules):
        """Returns the files of modules and their dependencies, in an order in which they can be loaded."""
        files = {}
        for module in modules:
            shown = subprocess.run(["modprobe", "-d", self._folder, "-S", self.version, "--show-depends", module],
                                   check=True, capture_output=True, text=True).stdout
            for line in shown.splitlines():
                kind, _, path = line.strip().partition(" ")
                if kind == "insmod":
                    files[Path(path.split()[0])] = None
        return list(files)

    def place(self, files, target, flat=False):
        """Copies module files below a folder, decompressed; returns their relative paths."""
        placed = []
        for file in files:
            name = file.name if flat else file.relative_to(self._modules)
            name = Path(str(name).removesuffix(".xz"))
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".xz":
                with open(target / name, "wb") as module:
                    subprocess.run(["xz", "-dc", file], stdout=module, check=True)
            else:
                shutil.copyfile(file, target / name)
            placed.append(name)
        return placed

    def lists(self):
        """depmod reads these files besides the modules."""
        return [self._modules / name for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo")]


def add_units(root, folder):
    """Adds the units of a folder to a root with systemd, enabled, and masks those that the guest does not need."""
    system = root / "etc" / "systemd" / "system"
    wanted = system / "multi-user.target.wants"
    wanted.mkdir(parents=True, exist_ok=True)
    for unit in folder.glob("*.service"):
        shutil.copy(unit, system)
        (wanted / unit.name).symlink_to(f"../{unit.name}")
    for drop_in in folder.glob("*.conf"):
        (system / f"{drop_in.stem}.d").mkdir()
        shutil.copy(drop_in, system / f"{drop_in.stem}.d" / "guest.conf")
    for unit in MASKED:
        (system / unit).unlink(missing_ok=True)
        (system / unit).symlink_to("/dev/null")
    # A machine ID, so that no boot is the first one.
    (root / "etc" / "machine-id").write_text("0123456789abcdef0123456789abcdef\n")
    (root / "etc" / "hostname").write_text("guest\n")
    (root / "etc" / "hosts").write_text("127.0.0.1 localhost guest\n")


def assemble(work, kind):
    """Builds the three files from the root that mmdebstrap has packed; runs as root or under fakeroot."""
    root, image = work / "root", work / "image"
    root.mkdir()
    image.mkdir()
    subprocess.run(["tar", "-C", root, "--exclude=./dev/*", "-xf", work / "root.tar"], check=True)
    (root / "kernel").rename(work / "kernel")
    kernel = Kernel(work / "kernel")
    shutil.copyfile(kernel.file, image / "kernel")
    modules = kind.listed("modules")

    at = root / "usr" / "lib" / "modules" / kernel.version
    kernel.place(kernel.needed_for(name for name, *_ in modules), at)
    for path in kernel.lists():
        shutil.copyfile(path, at / path.name)
    subprocess.run(["depmod", "-b", root, kernel.version], check=True)
    ours = root / "usr" / "lib" / "guest"
    ours.mkdir()
    for name in ("boot", "radios", "bluetoothd", "agent", "modules"):
        shutil.copy(kind.file(name), ours / name)
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", GUEST / "one-event.c", "-o",
                    ours / "one-event.so"], check=True)
    shutil.copyfile(GUEST / "inittab", root / "etc" / "inittab")
    if DESKTOP in kind.folders:
        add_units(root, DESKTOP / "units")
    for name in SHARES:
        (root / "mnt" / name).mkdir()
    shutil.rmtree(root / "var" / "lib" / "apt" / "lists", ignore_errors=True)
    shutil.rmtree(root / "var" / "cache" / "apt", ignore_errors=True)

    first = work / "first"
    (first / "bin").mkdir(parents=True)
    shutil.copy(root / "usr" / "bin" / "busybox", first / "bin" / "busybox")
    (first / "bin" / "sh").symlink_to("busybox")
    shutil.copy(GUEST / "init", first / "init")
    (first / "program").write_text(f"{kind.init}\n")
    placed = kernel.place(kernel.needed_for(name for name, *mark in modules if mark), first / "modules", flat=True)
    (first / "modules" / "order").write_text("".join(f"{name}\n" for name in placed))
    names = "\n".join(str(path.relative_to(first)) for path in sorted(first.rglob("*")))
    with open(image / "initramfs", "wb") as archive:
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=first, input=names.encode(), stdout=archive,
                       check=True)

    # Written once, so there is no journal and almost no free space.
    used = int(subprocess.run(["du", "-sm", root], check=True, capture_output=True, text=True).stdout.split()[0])
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", root, image / "disk",
                    f"{used * 5 // 4 + 32}M"], check=True)


if __name__ == "__main__":
    assemble(Path(sys.argv[1]), KINDS[sys.argv[2]])
