# SPDX-License-Identifier: Apache-2.0
"""Every feature of the demo site in a real Chromium; see ../README.md."""
import os
import sys
from pathlib import Path

from cases import CASES
from environment import ShinyEnvironment
from harness.command import REPOSITORY, Arguments, names_of
from harness.suite import run_suite

TOOLS = ("setpriv", "bash", "chromium", "Xvfb", "openbox", "xdotool", "import", "zbarimg", "dbus-daemon")
BUILD = REPOSITORY / "Shiny" / ".build"


def main():
    parser = Arguments("acceptance shiny", "The features of hybrid-lab shiny in Chromium.")
    parser.add_argument("--cases", type=names_of("case", CASES), default=tuple(CASES), metavar="NAME,…",
                        help=f"only these cases, of {', '.join(CASES)}; create always runs first")
    parser.add_argument("--site", type=Path, metavar="PROGRAM", default=BUILD / "debug" / "hybrid-shiny",
                        help="the program hybrid-shiny; default %(default)s")
    parser.add_argument("--pictures", type=Path, metavar="DIR", default=BUILD / "pictures",
                        help="folder for a picture of each feature; default %(default)s")
    options = parser.parse_args()
    parser.require(TOOLS, "run chromium")
    programs = parser.programs(options.bin_dir, "auth", "lab")
    if not os.access(options.site, os.X_OK):
        parser.unavailable(f"{options.site} is not built; build with 'swift build --package-path Shiny'")
    programs.site = options.site.resolve()
    options.pictures.mkdir(parents=True, exist_ok=True)
    chosen = {name: CASES[name] for name in CASES if name in (*options.cases, "create")}
    return run_suite(
        "shiny", chosen,
        lambda folder, signals: ShinyEnvironment(programs, folder, options.pictures, signals), keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
