# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel of hybrid-lab: build.py --program FILE --version TEXT --time SECONDS --out DIR [--root DIR] [--strip NAME]

The wheel contains the program, dbus-daemon, the libraries that both are linked with except those of the C and C++ runtime,
and the copyright files of their Debian packages. The libraries are those of the system at --root, for which the program
was built. The same inputs give the same bytes. scripts/wheel runs this.
"""
import argparse
import base64
import hashlib
import re
import shutil
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TRIPLETS = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}
# PEP 600 expects these of every system with the tag's glibc.
RUNTIME = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|gcc_s|stdc\+\+))\.so\b")


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], check=True, capture_output=True, text=True).stdout


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", path))


class System:
    """The installed Debian packages that the wheel takes its libraries from."""

    def __init__(self, root, machine):
        self.root = root
        self._folders = [root / "usr/lib" / TRIPLETS[machine], root / "lib" / TRIPLETS[machine], root / "usr/lib"]

    def library(self, name):
        for folder in self._folders:
            if (folder / name).exists():
                # The file's own name has the version that the package manager knows.
                return folder / name
        raise SystemExit(f"wheel: no library {name} in {self.root}")

    def closure(self, programs):
        """Returns the files of all libraries that the programs need, by name."""
        found, open_names = {}, [name for program in programs for name in needed(program)]
        while open_names:
            name = open_names.pop()
            if name not in found and not RUNTIME.match(name):
                found[name] = self.library(name)
                open_names += needed(found[name])
        return dict(sorted(found.items()))

    def package(self, path):
        """Returns the name and the version of the package that contains a file."""
        path = path.resolve()
        inside = "/" + str(path.relative_to(self.root.resolve()))
        # Debian's folder /lib is a link; its packages may still use the old name.
        for name in (inside, re.sub("^/usr", "", inside)):
            said = self._query("-S", name)
            if said:
                package = said.split(": ")[0].split(",")[0]
                return self._query("-W", "-f", "${Package} ${Version}", package).split()
        raise SystemExit(f"wheel: {inside} belongs to no package")

    def copyright(self, package):
        return (self.root / "usr/share/doc" / package / "copyright").read_bytes()

    def _query(self, *arguments):
        done = subprocess.run(["dpkg-query", f"--admindir={self.root}/var/lib/dpkg", *arguments],
                              capture_output=True, text=True, check=False)
        return done.stdout.strip()


def glibc(paths):
    """Returns the newest version of glibc that one of the files needs."""
    versions = [tuple(map(int, version.split("."))) for path in paths
                for version in re.findall(r"Name: GLIBC_(\d+\.\d+)", readelf("-V", path))]
    return max(versions)


def relocated(source, target, folder, strip):
    """Copies a program or library without symbols; it then finds libraries in `folder`, relative to its own."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755)
    subprocess.run([strip, "--strip-all" if "lib" != target.parent.name else "--strip-unneeded", target], check=True)
    # RPATH also holds for the libraries that libraries need.
    subprocess.run(["patchelf", "--force-rpath", "--set-rpath", folder, target], check=True)


def metadata(version, packages):
    lines = ["Metadata-Version: 2.1", "Name: hybrid-lab", f"Version: {version}",
             "Summary: Tests sign-ins with a passkey on a phone, without a phone and without Bluetooth",
             "License: Apache-2.0", "Requires-Python: >=3.11", "Classifier: Framework :: Pytest",
             "Classifier: Operating System :: POSIX :: Linux", "Description-Content-Type: text/markdown", ""]
    listed = "".join(f"- {name} {number}\n" for name, number in packages)
    return "\n".join(lines) + "\n" + (HERE / "README.md").read_text(encoding="utf-8") + "\n" + listed


def build(options):
    machine = {"Advanced Micro Devices X86-64": "x86_64", "AArch64": "aarch64"}[
        re.search(r"Machine:\s+(.*)", readelf("-h", options.program))[1].strip()]
    system = System(options.root, machine)
    daemon = options.root / "usr/bin/dbus-daemon"
    if not daemon.exists():
        raise SystemExit(f"wheel: no {daemon}; it is in the package dbus-daemon")
    libraries = system.closure([options.program, daemon])
    packages = sorted({tuple(system.package(path)) for path in [daemon, *libraries.values()]})
    # Python sorts pre-releases otherwise: 1.0.0-rc.1 becomes 1.0.0rc1.
    version = re.sub(r"-(a|b|rc)[a-z]*\.?(\d+)$", r"\1\2", options.version)
    info = f"hybrid_lab-{version}.dist-info"
    with tempfile.TemporaryDirectory() as work:
        files = Path(work) / "hybrid_lab/files"
        relocated(options.program, files / "hybrid-lab", "$ORIGIN/lib", options.strip)
        relocated(daemon, files / "bin/dbus-daemon", "$ORIGIN/../lib", options.strip)
        for name, path in libraries.items():
            relocated(path, files / "lib" / name, "$ORIGIN", options.strip)
        native = [files / "hybrid-lab", files / "bin/dbus-daemon", *(files / "lib" / name for name in libraries)]
        tag = "manylinux_{}_{}_{}".format(*glibc(native), machine)
        content = {str(path.relative_to(work)): (path.read_bytes(), 0o755) for path in native}
    for source in sorted((HERE / "hybrid_lab").glob("*.py")):
        content[f"hybrid_lab/{source.name}"] = (source.read_bytes(), 0o644)
    for name, _ in packages:
        content[f"{info}/licenses/{name}"] = (system.copyright(name), 0o644)
    content[f"{info}/licenses/LICENSE"] = ((HERE.parents[1] / "LICENSE").read_bytes(), 0o644)
    content[f"{info}/licenses/hybrid-lab"] = ((HERE.parent / "debian/copyright").read_bytes(), 0o644)
    for name, text in {
            "METADATA": metadata(version, packages),
            "WHEEL": f"Wheel-Version: 1.0\nGenerator: hybrid\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n",
            "entry_points.txt": "[console_scripts]\nhybrid-lab = hybrid_lab.__main__:main\n\n"
                                "[pytest11]\nhybrid-lab = hybrid_lab.pytest_plugin\n"}.items():
        content[f"{info}/{name}"] = (text.encode(), 0o644)
    target = options.out / f"hybrid_lab-{version}-py3-none-{tag}.whl"
    write(target, info, content, options.time)
    print(target)


def write(target, info, content, seconds):
    record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},"
                     f"{len(data)}\n" for name, (data, _) in sorted(content.items()))
    content[f"{info}/RECORD"] = ((record + f"{info}/RECORD,,\n").encode(), 0o644)
    target.parent.mkdir(parents=True, exist_ok=True)
    # RECORD is last, as in PEP 427.
    names = sorted(content, key=lambda name: (name.startswith(info), name.endswith("/RECORD"), name))
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name in names:
            data, mode = content[name]
            entry = zipfile.ZipInfo(name, time.gmtime(seconds)[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100000 | mode) << 16
            wheel.writestr(entry, data)


def main():
    parser = argparse.ArgumentParser(prog="wheel")
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--time", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--root", type=Path, default=Path("/"))
    parser.add_argument("--strip", default="strip")
    build(parser.parse_args())


if __name__ == "__main__":
    main()
