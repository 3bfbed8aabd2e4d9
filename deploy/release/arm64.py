# SPDX-License-Identifier: Apache-2.0
"""Makes Debian packages for arm64 from those for amd64; started by scripts/release.

    arm64.py UNPACKED BIN-DIR OUT

UNPACKED has a folder for each package, as `dpkg-deb -R` writes it, and BIN-DIR the programs from scripts/build-arm64. Only
the programs, their sums and the versions of libc6 and libstdc++6 differ. A package is left out if BIN-DIR lacks its
program. OUT gets the packages, and unpacked/PACKAGE the folders. SOURCE_DATE_EPOCH is the time of the files.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

# Versions of libstdc++6 that have a symbol version, as in Debian's symbols file.
LIBSTDCXX = {"GLIBCXX_3.4.29": "11", "GLIBCXX_3.4.30": "12", "GLIBCXX_3.4.31": "13", "GLIBCXX_3.4.32": "13.1",
             "GLIBCXX_3.4.33": "14", "CXXABI_1.3.13": "11", "CXXABI_1.3.14": "13.1", "CXXABI_1.3.15": "14"}


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def numbers(version: str) -> tuple:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def is_program(file: pathlib.Path) -> bool:
    if file.is_symlink() or not file.is_file():
        return False
    with file.open("rb") as opened:
        return opened.read(4) == b"\x7fELF"


def libraries(program: pathlib.Path) -> set:
    """Returns the shared libraries, without the loader, whose name contains the architecture."""
    found = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW", str(program)))
    return {name for name in found if not name.startswith("ld-linux-")}


def newest(programs: list) -> dict:
    """Returns the oldest versions of libc6 and libstdc++6 that have all symbols of the programs."""
    # Debian 13's libstdc++ is that of GCC 14, and programs for amd64 state at least 12.
    wanted = {"libc6": "2.17", "libstdc++6": "12"}
    for program in programs:
        for name in re.findall(r"\b(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+\b", output("readelf", "-VW", str(program))):
            kind, version = name.split("_")
            if kind == "GLIBC":
                package = "libc6"
            elif name in LIBSTDCXX:
                package, version = "libstdc++6", LIBSTDCXX[name]
            elif numbers(version) < numbers("3.4.29" if kind == "GLIBCXX" else "1.3.13"):
                continue
            else:
                raise SystemExit(f"arm64: {program.name} needs {name}; add its version of libstdc++6 to LIBSTDCXX")
            wanted[package] = max(wanted[package], version, key=numbers)
    return wanted


def size(folder: pathlib.Path) -> int:
    """Returns the size in KiB like dpkg-gencontrol."""
    paths = [path for path in folder.rglob("*") if "DEBIAN" not in path.relative_to(folder).parts[:1]]
    return sum(-(-path.stat().st_size // 1024) if path.is_file() and not path.is_symlink() else 1 for path in paths)


def control(folder: pathlib.Path, programs: list) -> None:
    file = folder / "DEBIAN/control"
    text = file.read_text()
    if "\nArchitecture: amd64\n" not in text:
        raise SystemExit(f"arm64: {folder.name} is not a package for amd64")
    text = text.replace("\nArchitecture: amd64\n", "\nArchitecture: arm64\n")
    for package, version in newest(programs).items():
        text = re.sub(rf"(?<=[ ,]){re.escape(package)} \(>= [^)]*\)", f"{package} (>= {version})", text)
    text = re.sub(r"(?m)^Installed-Size: .*$", f"Installed-Size: {size(folder)}", text)
    file.write_text(text)


def sums(folder: pathlib.Path) -> None:
    file = folder / "DEBIAN/md5sums"
    paths = [line[34:] for line in file.read_text().splitlines()]
    file.write_text("".join(f"{hashlib.md5((folder / path).read_bytes()).hexdigest()}  {path}\n" for path in paths))


def convert(folder: pathlib.Path, binaries: pathlib.Path, out: pathlib.Path) -> None:
    found = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if is_program(path)]
    missing = [path.name for path in found if not (binaries / path.name).is_file()]
    if missing:
        print(f"arm64: {folder.name} is left out; {binaries} has no {', '.join(missing)}")
        return
    copy = out / "unpacked" / folder.name
    shutil.copytree(folder, copy, symlinks=True)
    for path in found:
        source, program = binaries / path.name, copy / path
        if libraries(source) != libraries(program):
            raise SystemExit(f"arm64: {path.name} has different libraries: {sorted(libraries(source) ^ libraries(program))}")
        subprocess.run(["aarch64-linux-gnu-strip", "--remove-section=.comment", "--remove-section=.note",
                        "-o", program, source], check=True)
    control(copy, [copy / path for path in found])
    sums(copy)
    time = int(os.environ["SOURCE_DATE_EPOCH"])
    for path in [copy, *copy.rglob("*")]:
        os.utime(path, (time, time), follow_symlinks=False)
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", copy, out], check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    unpacked, binaries, out = map(pathlib.Path, sys.argv[1:])
    out.mkdir(parents=True)
    for folder in sorted(unpacked.iterdir()):
        convert(folder, binaries, out)


if __name__ == "__main__":
    main()
