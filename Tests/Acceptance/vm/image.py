# SPDX-License-Identifier: Apache-2.0
"""The guest's kernel and disk, built from Debian packages once and kept in the cache.

mmdebstrap unpacks the packages of guest/packages with the host's configuration for Debian's archive. The suite's kernel
is downloaded and unpacked, not installed: the guest needs only the modules of guest/modules, decompressed, because its
processor is emulated and slow.
"""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from failure import Unavailable

GUEST = Path(__file__).with_name("guest")
SUITES = {"trixie": "Debian 13, BlueZ 5.82", "bookworm": "Debian 12, BlueZ 5.66"}
# The unprivileged user that runs everything.
USER = "ada"
# Run by mmdebstrap in the new root; the host's apt settings apply there.
KERNEL_HOOK = r"""chroot "$1" sh -ec '
    kernel=$(apt-cache depends linux-image-amd64 | sed -n "s/.*Depends: \(linux-image-[0-9]\)/\1/p" | head -n 1)
    mkdir /kernel
    cd /tmp
    apt-get download -qq "$kernel"
    dpkg-deb -x linux-image-*.deb /kernel
    rm linux-image-*.deb
'"""
LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*",
            "/usr/lib/udev/hwdb.d/*")


def words(path):
    """Returns the lines of a list without comments, each split into words."""
    return [line.split() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]


def key(suite):
    """Returns a key of all inputs of the image except Debian's updates."""
    digest = hashlib.sha256(suite.encode())
    for path in [Path(__file__), *sorted(GUEST.iterdir())]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


class Image:
    """The files `kernel`, `initramfs` and `disk` in a folder of the cache."""

    def __init__(self, cache, suite):
        self.suite = suite
        self.folder = Path(cache) / f"{suite}-{key(suite)}"
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
            packages = [words[0] for words in words(GUEST / "packages")]
            with open(work / "root.tar", "wb") as tar, open(log, "wb") as said:
                done = subprocess.run(
                    ["mmdebstrap", "--variant=minbase", "--format=tar", f"--include={','.join(packages)}",
                     "--skip=cleanup/apt", "--dpkgopt=force-unsafe-io",
                     *(f"--dpkgopt=path-exclude={path}" for path in LEFT_OUT),
                     f"--customize-hook=chroot \"$1\" useradd --create-home --shell /bin/bash {USER}",
                     f"--customize-hook={KERNEL_HOOK}", self.suite, "-"],
                    stdin=subprocess.DEVNULL, stdout=tar, stderr=said, check=False)
                if done.returncode:
                    raise Unavailable(f"mmdebstrap could not build a root of {self.suite}; see {log}")
                # Without root, root's files exist only within one run of fakeroot, so a single program does everything.
                pretend = [] if os.geteuid() == 0 else ["fakeroot", "--"]
                done = subprocess.run([*pretend, sys.executable, __file__, str(work)], stdin=subprocess.DEVNULL,
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


def assemble(work):
    """Builds the three files from the root that mmdebstrap has packed; runs as root or under fakeroot."""
    root, image = work / "root", work / "image"
    root.mkdir()
    image.mkdir()
    subprocess.run(["tar", "-C", root, "--exclude=./dev/*", "-xf", work / "root.tar"], check=True)
    (root / "kernel").rename(work / "kernel")
    kernel = Kernel(work / "kernel")
    shutil.copyfile(kernel.file, image / "kernel")
    modules = words(GUEST / "modules")

    at = root / "usr" / "lib" / "modules" / kernel.version
    kernel.place(kernel.needed_for(name for name, *_ in modules), at)
    for path in kernel.lists():
        shutil.copyfile(path, at / path.name)
    subprocess.run(["depmod", "-b", root, kernel.version], check=True)
    ours = root / "usr" / "lib" / "guest"
    ours.mkdir()
    for name in ("boot", "radios", "bluetoothd", "agent", "modules"):
        shutil.copy(GUEST / name, ours / name)
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", GUEST / "one-event.c", "-o",
                    ours / "one-event.so"], check=True)
    shutil.copyfile(GUEST / "inittab", root / "etc" / "inittab")
    for name in ("programs", "tests", "results"):
        (root / "mnt" / name).mkdir()
    shutil.rmtree(root / "var" / "lib" / "apt" / "lists", ignore_errors=True)
    shutil.rmtree(root / "var" / "cache" / "apt", ignore_errors=True)

    first = work / "first"
    (first / "bin").mkdir(parents=True)
    shutil.copy(root / "usr" / "bin" / "busybox", first / "bin" / "busybox")
    (first / "bin" / "sh").symlink_to("busybox")
    shutil.copy(GUEST / "init", first / "init")
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
    assemble(Path(sys.argv[1]))
