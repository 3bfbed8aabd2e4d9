# SPDX-License-Identifier: Apache-2.0
"""Command lines of the suites: options, required tools, built programs."""
import argparse
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

REPOSITORY = Path(__file__).resolve().parents[3]
USAGE, UNAVAILABLE = 64, 69


class Arguments(argparse.ArgumentParser):
    """A parser with our exit status, and with the options that every suite has."""

    def __init__(self, prog, description, build="debug"):
        super().__init__(prog=prog, description=description)
        self.add_argument("--keep", action="store_true", help="keep all files even if everything passed")
        self.add_argument("--bin-dir", type=lambda folder: Path(folder).resolve(), metavar="DIR",
                          default=Path(os.environ.get("HYBRID_BIN") or REPOSITORY / ".build" / build).resolve(),
                          help=f"folder of our programs; default $HYBRID_BIN, else .build/{build} of this repository")

    def error(self, message):
        print(f"{self.prog}: {message}", file=sys.stderr)
        sys.exit(USAGE)

    def unavailable(self, sentence):
        """Ends the program because something is missing on this machine."""
        print(f"{self.prog}: {sentence}", file=sys.stderr)
        sys.exit(UNAVAILABLE)

    def require(self, tools, preparation):
        """Ends the program if a tool is missing; `preparation` holds the words for scripts/prepare."""
        missing = [tool for tool in tools if shutil.which(tool) is None]
        if missing:
            self.unavailable(f"not installed: {', '.join(missing)}; scripts/prepare {preparation} installs what is "
                             "needed")

    def programs(self, folder, *names):
        """Returns our programs as `relay`, `auth` and so on; ends this program if one is not built."""
        programs = {name: folder / f"hybrid-{name}" for name in names}
        missing = [path.name for path in programs.values() if not os.access(path, os.X_OK)]
        if missing:
            self.unavailable(f"{', '.join(missing)} not in {folder}; build with 'swift build', or set --bin-dir")
        return SimpleNamespace(**programs)


def names_of(kind, known):
    """Returns the parser of an option with names separated by commas."""
    def parse(text):
        names = tuple(text.split(","))
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"there is no {kind} {name!r}; the {kind}s are {', '.join(known)}")
        return names

    return parse


def count(least=1, what="runs"):
    """Returns the parser of a number option."""
    def parse(text):
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number of {what} (at least {least})")
        return int(text)

    return parse
