# SPDX-License-Identifier: Apache-2.0
"""A hidraw node without the kernel: what a browser sees of a security key on a machine without uhid.

`hidraw.c`, which is preloaded into the browser, connects to the socket instead of opening /dev/hidraw0. In the browser's
mount namespace, /sys and /run/udev describe this device alone.
"""
import os
import socket
import subprocess
import threading
from pathlib import Path

from device import REPORT

SOURCE = Path(__file__).parents[1] / "hidraw.c"
DEVICE = "devices/virtual/misc/uhid/0003:1209:CAB1.0001"
NUMBER = "247:0"
DESCRIPTOR = bytes.fromhex("06d0f10901a1010920150026ff007508954081020921150026ff00750895409102c0")
IN_NAMESPACE = 'mount --rbind "$0/sys" /sys && mount --bind "$0/run" /run && exec "$@"'


class SimulatedNode:
    """The node of the current key; `key` is replaced by each new one."""

    def __init__(self, folder, environment):
        self.key, self._root = None, folder.scratch / "node"
        self._describe()
        library = self._root / "hidraw.so"
        subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", SOURCE, "-o", library], check=True, env=environment)
        path = folder.sockets / "hidraw"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        mapped = [] if os.geteuid() == 0 else ["--map-root-user"]
        # The command in which a browser runs, and its variables.
        self.command = ["unshare", "--mount", *mapped, "--", "sh", "-c", IN_NAMESPACE, self._root]
        self.environment = {"LD_PRELOAD": str(library), "HIDRAW_SOCKET": str(path), "SYSTEMD_DEVICE_VERIFY_SYSFS": "0"}

    def _describe(self):
        files = {
            f"{DEVICE}/uevent": "HID_ID=0003:00001209:0000CAB1\nHID_NAME=Phone\nHID_PHYS=\nHID_UNIQ=1\n",
            f"{DEVICE}/hidraw/hidraw0/uevent": "MAJOR=247\nMINOR=0\nDEVNAME=hidraw0\n",
            f"{DEVICE}/hidraw/hidraw0/dev": f"{NUMBER}\n"}
        links = {f"{DEVICE}/subsystem": "bus/hid", f"{DEVICE}/hidraw/hidraw0/subsystem": "class/hidraw",
                 f"{DEVICE}/hidraw/hidraw0/device": DEVICE, "class/hidraw/hidraw0": f"{DEVICE}/hidraw/hidraw0",
                 f"bus/hid/devices/{Path(DEVICE).name}": DEVICE, f"dev/char/{NUMBER}": f"{DEVICE}/hidraw/hidraw0"}
        system = self._root / "sys"
        for name in ("bus/hid/devices", "class/hidraw"):
            (system / name).mkdir(parents=True)
        for name, text in files.items():
            (system / name).parent.mkdir(parents=True, exist_ok=True)
            (system / name).write_text(text)
        (system / DEVICE / "report_descriptor").write_bytes(DESCRIPTOR)
        for name, target in links.items():
            (system / name).parent.mkdir(parents=True, exist_ok=True)
            (system / name).symlink_to(os.path.relpath(system / target, (system / name).parent))
        known = self._root / "run" / "udev" / "data"
        known.mkdir(parents=True)
        (known / f"c{NUMBER}").write_text("I:1\nE:ID_SECURITY_TOKEN=1\nG:security-device\nV:1\n")
        (self._root / "run" / "udev" / "control").touch()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            if not self.key or self.key.device.is_gone.is_set():
                connection.close()
                continue
            client = self.key.device.open()
            threading.Thread(target=self._to_key, args=(connection, self.key.device), daemon=True).start()
            threading.Thread(target=self._to_browser, args=(connection, client), daemon=True).start()

    @staticmethod
    def _to_key(connection, device):
        """Passes reports of the browser on, without the number of the report."""
        try:
            while report := connection.recv(REPORT + 2):
                device.write(report[1:])
        except OSError:
            pass
        connection.close()

    @staticmethod
    def _to_browser(connection, client):
        """Passes all reports of the key on, those of other channels included."""
        try:
            while (item := client.received.get()) is not None:
                connection.send(item[1])
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def stop(self):
        self._listener.close()
        return []
