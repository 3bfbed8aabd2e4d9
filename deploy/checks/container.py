# SPDX-License-Identifier: Apache-2.0
"""Performs the last stage of deploy/container/Containerfile without a container engine, and runs the result.

    container.py RELAY

RELAY replaces the result of the build stage and is stripped in the same way:
`swift build -c release --static-swift-stdlib --product hybrid-relay`. BASE is a Debian root with only the C and C++
libraries, created by mmdebstrap. The program runs in it as the image's user, in its own namespaces, without
capabilities, on a read-only root. It must respond and exit on SIGTERM. Neither the build stage nor a real base image is
tested.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

CONTAINERFILE = pathlib.Path(__file__).resolve().parent.parent / "container/Containerfile"
NOBODY = 65534


def fail(text: str) -> None:
    raise SystemExit(f"container: {text}")


def last_stage() -> list:
    """Returns the instructions after the last FROM, as pairs of keyword and arguments."""
    text = re.sub(r"\\\n", " ", CONTAINERFILE.read_text(encoding="utf-8"))
    lines = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]
    start = max(i for i, (word, _) in enumerate(lines) if word == "FROM")
    if lines[start][1] != "${BASE}" or not any(w == "ARG" and r.startswith("BASE=") for w, r in lines[:start]):
        fail("the last stage does not start FROM ${BASE}")
    return lines[start + 1:]


def build(root: pathlib.Path, program: pathlib.Path) -> dict:
    """Executes the instructions. Unknown ones are errors; so is RUN, since there may be no shell."""
    image = {"user": "", "entrypoint": [], "command": []}
    for word, rest in last_stage():
        if word == "COPY":
            source, made, target = rest.split()
            if (source, made) != ("--from=build", "/hybrid-relay"):
                fail(f"unknown source of COPY: {rest}")
            target = root / target.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["strip", "-o", target, program], check=True)
            target.chmod(0o755)
        elif word == "USER":
            image["user"] = rest
            if not re.fullmatch(r"[1-9]\d*:[1-9]\d*", rest):
                fail("the user must be two numbers other than root's")
        elif word in ("ENTRYPOINT", "CMD"):
            image[{"CMD": "command"}.get(word, "entrypoint")] = json.loads(rest)
        elif word != "EXPOSE":
            fail(f"unknown instruction {word}")
    if not image["user"]:
        fail("there is no USER")
    return image


def start(root: pathlib.Path, image: dict, arguments: list) -> subprocess.Popen:
    """Starts the image's program with other arguments, like an unprivileged container engine."""
    user, group = image["user"].split(":")
    # In namespaces with root rights, the caller makes the directory a read-only root. The program then gets another user
    # namespace with the image's user ID and no privileges.
    inner = ["unshare", "--user", f"--map-user={user}", f"--map-group={group}", f"--root={root}", "--wd=/"]
    outer = 'mount --rbind "$0" "$0" && mount -o remount,bind,ro "$0" && mount -t proc proc "$0/proc" && exec "$@"'
    command = ["setpriv", "--no-new-privs", "--inh-caps=-all",
               "unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", outer,
               str(root), *inner, *image["entrypoint"], *arguments]
    if os.getuid() == 0:
        command[1:1] = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True,
                            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})


def child(process: int, name: str) -> int:
    """Returns the child process with this name, or 0."""
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(re.findall(r"^(\w+):\s*(.*)$", status.read_text(), re.M))
        except OSError:
            continue
        if fields["Name"] == name and int(fields["PPid"]) == process:
            return int(fields["Pid"])
    return 0


def ask(port: int, path: str, *fields: str) -> str:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        head = [f"GET {path} HTTP/1.1", "Host: localhost", *fields, "", ""]
        connection.sendall("\r\n".join(head).encode())
        return connection.recv(4096).decode()


def check(process: subprocess.Popen, root: pathlib.Path, image: dict) -> None:
    lines = []
    while not lines or not (found := re.search(r"listening on 127\.0\.0\.1:(\d+)", lines[-1])):
        lines.append(process.stderr.readline())
        if not lines[-1]:
            fail("the program did not start: " + "".join(lines).strip())
    port = int(found.group(1))
    pid = child(process.pid, "hybrid-relay")
    if not pid:
        fail("the program's process was not found")
    fields = dict(re.findall(r"^(\w+):\s*(.*)$", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M))
    capabilities = int(fields["CapEff"], 16) | int(fields["CapPrm"], 16)
    if fields["Uid"].split()[0] == "0" or capabilities or fields["NoNewPrivs"] != "1":
        fail("the program runs with privileges")
    mounts = [line.split() for line in pathlib.Path(f"/proc/{pid}/mountinfo").read_text().splitlines()]
    (options,) = [m[5] for m in mounts if m[4] == "/"]
    if "ro" not in options.split(","):
        fail("its root is writable")
    response = ask(port, "/cable/new/" + "0" * 32, "Upgrade: websocket", "Connection: Upgrade",
                 "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
                 "Sec-WebSocket-Protocol: fido.cable")
    if not response.startswith("HTTP/1.1 101 ") or "x-cable-routing-id" not in response.lower():
        fail(f"no tunnel can be opened: {response.splitlines()[:1]}")
    began = time.monotonic()
    os.kill(pid, signal.SIGTERM)
    _, rest = process.communicate(timeout=75)
    if process.returncode != 0:
        fail(f"after SIGTERM the exit status is {process.returncode}: {rest.strip()}")
    size = sum(path.lstat().st_size for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    relay = (root / "usr/bin/hybrid-relay").stat().st_size
    print(f"runs as {image['user']} on a read-only root; exits {time.monotonic() - began:.1f} s after SIGTERM; "
          f"program {relay / 1e6:.0f} MB, with its libraries' packages {size / 1e6:.0f} MB")


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("usage: container.py RELAY")
    program = pathlib.Path(sys.argv[1])
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hybrid-container-"))
    folder.chmod(0o755)
    root = folder / "root"
    process = None
    try:
        subprocess.run(["mmdebstrap", "--quiet", "--variant=extract", "--include=libc6,libstdc++6,libgcc-s1",
                        "--dpkgopt=path-exclude=/usr/share/*", "bookworm", root], check=True)
        # Only now, since a download may take any time.
        signal.alarm(110)
        root.chmod(0o755)
        (root / "proc").mkdir(exist_ok=True)
        image = build(root, program)
        if image["command"] != ["serve"]:
            fail("without arguments it must serve")
        process = start(root, image, ["serve", "--plaintext", "--listen", "127.0.0.1:0"])
        check(process, root, image)
    finally:
        if process and process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
