# SPDX-License-Identifier: Apache-2.0
"""Folders of a run, and the environment that keeps its programs inside them."""
import os
import shutil
import tempfile
from pathlib import Path


class RunFolder:
    """Folder of a run: evidence at the top, temporary files in `scratch`.

    Sockets need short paths without special characters, whatever TMPDIR is; they are in a second folder, which is
    always
    removed after the run.
    """

    def __init__(self, root):
        self.root = Path(root)
        self.scratch = self.root / "scratch"
        self.home = self.scratch / "home"
        self.phone = self.root / "phone"
        for folder in (self.root, self.scratch, self.home, self.phone):
            folder.mkdir(mode=0o700)
        self.sockets = Path(tempfile.mkdtemp(prefix="hybrid-", dir="/tmp"))

    def path(self, name):
        return self.root / name

    def environment(self, **additions):
        """Returns this process's environment without variables that lead to this machine's desktop or its user's
        settings.
        """
        strange = ("DBUS_", "XDG_", "HYBRID_", "WAYLAND_", "GTK_", "GNOME_", "KDE_", "CHROM", "LC_")
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(strange) and name not in ("DISPLAY", "XAUTHORITY", "LANG", "LANGUAGE")}
        return {
            **kept,
            "HOME": str(self.home),
            "TMPDIR": str(self.sockets),
            "XDG_RUNTIME_DIR": str(self.sockets),
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.sockets}/there-is-no-session-bus",
            "LC_ALL": "C.UTF-8",
            "LANGUAGE": "en",
            **additions,
        }

    def remove_sockets(self):
        shutil.rmtree(self.sockets, ignore_errors=True)

    def remove_scratch(self):
        shutil.rmtree(self.scratch, ignore_errors=True)

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)
