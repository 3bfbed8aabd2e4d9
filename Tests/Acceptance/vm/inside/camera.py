# SPDX-License-Identifier: Apache-2.0
"""A camera of libcamera, as phones have: its frames are DMA-BUFs, and PipeWire offers it through WirePlumber."""
import os
import re
import shutil
from pathlib import Path

from environment import PINENTRY, PROGRAMS, USER, ReportingProgram, as_user
from harness.programs import Program, brief
from harness.relay import DOMAIN

# Read by libcamera's virtual camera.
SETTINGS = """%YAML 1.1
---
"Virtual0":
  supported_formats:
  - width: 1280
    height: 720
    frame_rates: [10, 30]
  frames:
    path: "{picture}"
  location: "CameraLocationBack"
  model: "Built-in Back Camera"
...
"""
SCRIPT = Path("/usr/share/wireplumber/scripts/lib/monitor-utils.lua")


def code_camera(env):
    """Reads the client's code from DMA-BUFs of a camera, and signs in."""
    env.need_passkey()
    drawn, picture = env.folder / "code.png", env.folder / "code.jpg"
    client = env.client(more=["--qr-output", drawn])
    env.code(client)
    show(drawn, picture)
    services = start(env, picture)
    phone = ReportingProgram(env, "auth", [
        PROGRAMS / "hybrid-auth", "scan", "--camera", "--vault", env.folder / "vault", "--tunnel-domain", DOMAIN, "--pinentry",
        PINENTRY, "--json", "--adapter", "hci1", "--timeout", 90, *env.network])
    env.programs += [phone, services]
    env.waiting.until("frames in DMA-BUFs", lambda: maps_buffers(phone.program.pid), 60, pause=0.1)
    seconds = env.finish(client, phone)
    return f"{seconds:.1f} s from the command of the client"


def show(drawn, picture):
    """Puts a code in front of the camera, a third of the picture wide."""
    # Only the guest with a camera has it.
    from PIL import Image

    code = Image.open(drawn).convert("L")
    factor = max(1, 420 // code.width)
    code = code.resize((code.width * factor, code.height * factor), Image.NEAREST)
    scene = Image.new("RGB", (1280, 720), "gray")
    scene.paste(code, ((1280 - code.width) // 2, (720 - code.height) // 2))
    scene.save(picture, quality=90)
    picture.chmod(0o644)


def start(env, picture):
    """Starts PipeWire and WirePlumber for the user, on a session bus of their own."""
    folder = Path("/usr/share/libcamera/pipeline/virtual")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "virtual.yaml").write_text(SETTINGS.format(picture=picture), encoding="ascii")
    # WirePlumber 0.5.8 expects the numbers of a device, which a virtual camera lacks.
    SCRIPT.write_text(re.sub(r'(dev_ids = .*"device\.devids"\])', r'\1 or ""', SCRIPT.read_text()))
    for name in ("seats", "sessions", "users", "machines"):
        Path("/run/systemd", name).mkdir(parents=True, exist_ok=True)
    # A session of the user may open it on a computer with systemd.
    os.chmod("/dev/udmabuf", 0o666)
    runtime = env.folder / "runtime"
    runtime.mkdir(mode=0o700)
    shutil.chown(runtime, USER, USER)
    env.environment["XDG_RUNTIME_DIR"] = str(runtime)
    services = Program(
        "pipewire", as_user("dbus-run-session", "--", "sh", "-c", "pipewire & sleep 1; exec wireplumber"),
        log=env.results / f"{env.case}-pipewire.log", environment=env.environment)
    env.waiting.until("a camera of PipeWire", lambda: "Video/Source" in brief(
        as_user("pw-cli", "ls", "Node"), environment=env.environment, check=False).stdout, 90, pause=0.5)
    return services


def maps_buffers(pid):
    """True if a process has a DMA-BUF open."""
    try:
        links = [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return False
    return any(link.startswith("/dmabuf") for link in links)


CASES = {"camera": code_camera}
