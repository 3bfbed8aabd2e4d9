# SPDX-License-Identifier: Apache-2.0
"""Prerequisites of the measurements: packages, compiled tools, a certificate."""
import argparse
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parents[1]
ROOT = HERE.parent
BUILD = ROOT / ".build-benchmarks"
GO_PATH = "/usr/share/gocode"
NODE_MODULE = "/usr/share/nodejs/ws"
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror"]

PACKAGES = {
    "load": ["gcc", "libc6-dev", "libssl-dev", "openssl"],
    "limit": [],
    "limit-boring": ["g++", "binutils"],
    "go": ["golang-go", "golang-github-gorilla-websocket-dev"],
    "node": ["nodejs", "node-ws"],
    "valgrind": ["valgrind", "binutils"],
}


class Stop(Exception):
    """Ends the program with one line and a status."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def positive(text):
    """Reads an option's value."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"not a number above 0: {text!r}")
    return int(text)


def installed(package):
    found = subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Status}", package], capture_output=True, text=True)
    return found.stdout == "installed"


def need_packages(parts, install):
    if not shutil.which("dpkg-query"):
        print("not a Debian system: install compilers and peers first", file=sys.stderr)
        return
    missing = sorted({package for part in parts for package in PACKAGES[part] if not installed(package)})
    if not missing:
        return
    if not install:
        raise Stop(69, f"missing packages: {' '.join(missing)}; --install installs them, --peers leaves peers out")
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    print("installing " + " ".join(missing), file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-q"], ["install", "-yq", "--no-install-recommends", *missing]):
        if subprocess.run([*sudo, "apt-get", *command], env=environment, stdout=sys.stderr).returncode:
            raise Stop(69, f"apt-get {command[0]} failed")


def make(target, sources, command, **more):
    """Runs a command unless its target is newer than its sources."""
    if target.exists() and all(source.stat().st_mtime <= target.stat().st_mtime for source in sources):
        return
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if done.returncode:
        target.unlink(missing_ok=True)
        raise Stop(70, f"cannot build {target.name}:\n{done.stdout}{done.stderr}".rstrip())


def build_load():
    BUILD.mkdir(exist_ok=True)
    sources = sorted((HERE / "load").glob("*.[ch]"))
    program = BUILD / "load"
    make(program, sources,
         ["gcc", *FLAGS, "-o", program, *(s for s in sources if s.suffix == ".c"), "-lssl", "-lcrypto", "-lm"])
    return program


def build_limit():
    sources = sorted((HERE / "peers/limit").glob("*.[ch]"))
    program = BUILD / "limit"
    make(program, sources, ["gcc", *FLAGS, "-o", program, *(s for s in sources if s.suffix == ".c"), "-lssl",
                            "-lcrypto"])
    return program


def build_limit_boring(objects):
    """Builds the limit with the BoringSSL of swift-nio-ssl, from the objects of the relay's build."""
    compiled = sorted((objects / "CNIOBoringSSL.build").rglob("*.o"))
    headers = ROOT / ".build/checkouts/swift-nio-ssl/Sources/CNIOBoringSSL/include"
    if not compiled or not headers.is_dir():
        raise Stop(66, f"no objects of BoringSSL in {objects}: build the relay first (swift build -c release), choose "
                       "another folder with --objects, or leave limit-boring out with --peers")
    archive, program = BUILD / "libboringssl.a", BUILD / "limit-boring"
    if not archive.exists() or any(one.stat().st_mtime > archive.stat().st_mtime for one in compiled):
        archive.unlink(missing_ok=True)
    make(archive, [], ["ar", "rcs", archive, *compiled])
    sources = sorted((HERE / "peers/limit").glob("*.[ch]"))
    make(program, [*sources, archive],
         ["gcc", *FLAGS, "-DNIO_BORINGSSL", "-isystem", headers, "-Wl,--strip-debug", "-o", program,
          *(s for s in sources if s.suffix == ".c"), archive, "-lstdc++", "-lpthread"])
    return program


def build_go():
    sources = list((HERE / "peers/go").glob("*.go"))
    program = BUILD / "go-relay"
    make(program, sources, ["go", "build", "-o", program, "."], cwd=HERE / "peers/go",
         env={**os.environ, "GO111MODULE": "off", "GOPATH": GO_PATH, "GOCACHE": str(BUILD / "go-cache"), "GOFLAGS": ""})
    return program


def certificate():
    """Creates a new ECDSA P-256 certificate, the usual type for relays."""
    certificate, key = BUILD / "cert.pem", BUILD / "key.pem"
    done = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
         "-out", certificate, "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        capture_output=True, text=True)
    if done.returncode:
        raise Stop(70, "openssl cannot create a certificate: " + done.stderr.strip())
    return certificate, key


def first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.partition("\n")[0].strip()
    except OSError:
        return ""


def package_version(package):
    return first_line("dpkg-query", "-W", "-f=${Version}", package)


def nio_ssl_version():
    try:
        text = (ROOT / "Package.resolved").read_text()
    except OSError:
        return ""
    found = re.search(r'"identity" : "swift-nio-ssl".*?"version" : "([^"]+)"', text, re.DOTALL)
    return found.group(1) if found else ""


def machine(relay):
    """Returns the conditions of the measurement; no data that identifies the machine."""
    cpu = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return {
        "cpu": cpu.group(1) if cpu else platform.machine(),
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "relay": first_line(relay, "--version"),
        "openssl": package_version("libssl-dev"),
        "swift-nio-ssl": nio_ssl_version(),
        "go": package_version("golang-go"),
        "gorilla": package_version("golang-github-gorilla-websocket-dev"),
        "node": package_version("nodejs"),
        "ws": package_version("node-ws"),
    }
