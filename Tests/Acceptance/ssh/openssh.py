# SPDX-License-Identifier: Apache-2.0
"""OpenSSH's programs: the installed ones, or those of another release in a folder."""
import re

from harness.programs import brief
from harness.waiting import Failed

INSTALLED = {"ssh": "ssh", "scp": "scp", "ssh-add": "ssh-add", "ssh-keygen": "ssh-keygen", "sshd": "/usr/sbin/sshd"}
# Options of sshd for programs that newer versions start by themselves.
HELPERS = {"SshdSessionPath": "sshd-session", "SshdAuthPath": "sshd-auth"}


class OpenSSH:
    """The programs of one version, by their names."""

    def __init__(self, environment, programs=INSTALLED, server_options=()):
        self._programs = programs
        self.version = brief([self["ssh"], "-V"], environment=environment).stderr.strip()
        number = re.match(r"OpenSSH_(\d+)\.(\d+)", self.version)
        if number is None:
            raise Failed(f"expected a version of OpenSSH; found {self.version!r}")
        # Otherwise, the first logins that fail keep this address away from the server.
        penalties = ["PerSourcePenalties no"] if (int(number[1]), int(number[2])) >= (9, 8) else []
        self.server_options = [*server_options, *penalties]

    def __getitem__(self, name):
        return self._programs[name]

    @classmethod
    def unpacked(cls, environment, root, wrappers):
        """Returns the programs of packages that were unpacked into a folder; `wrappers` becomes a folder of scripts.

        The programs need the libraries of their release, so each script starts its program with the dynamic loader
        beside them. Paths that are built into the programs are replaced by options.
        """
        loader = next(root.glob("usr/lib/*/ld-linux-*.so.*"), None)
        if loader is None:
            raise Failed(f"expected a dynamic loader in {root}/usr/lib/*; found none")
        wrappers.mkdir()
        folders = ("usr/bin", "usr/sbin", "usr/lib/openssh")
        for program in (root / folder / name for folder in folders for name in (*INSTALLED, *HELPERS.values())):
            if program.exists():
                script = wrappers / program.name
                script.write_text(f"#!/bin/sh\nexec '{loader}' --library-path '{loader.parent}' '{program}' \"$@\"\n")
                script.chmod(0o755)
        missing = [name for name in INSTALLED if not (wrappers / name).exists()]
        if missing:
            raise Failed(f"expected {', '.join(missing)} in {root}; found none")
        options = [f"{option} {wrappers / name}" for option, name in HELPERS.items() if (wrappers / name).exists()]
        return cls(environment, {name: str(wrappers / name) for name in INSTALLED}, options)
