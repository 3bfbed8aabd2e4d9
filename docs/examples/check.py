# SPDX-License-Identifier: Apache-2.0
"""Compares code blocks on pages with their files, so that readers copy exactly what the checks run.

check.py [--write] PAGE…: exits with 1 if a block differs, if its file does not exist, or if no page contains or names
an example. See scripts/check-examples.
"""
import re
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent
BLOCK = re.compile(r"^<!-- file: (?P<path>\S+) -->\n(?P<fence>`{3,})(?P<kind>\w*)\n(?P<code>.*?)^(?P=fence)$",
                   re.MULTILINE | re.DOTALL)
UNTRACKED = {"__pycache__", "evidence", ".pytest_cache"}
LICENSE = "SPDX-License-Identifier: Apache-2.0"


def code_of(path):
    """Returns the file without its license line."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if LICENSE not in line)


def main(arguments):
    write = "--write" in arguments
    complaints, shown = [], set()
    for page in (Path(name) for name in arguments if name != "--write"):
        text = page.read_text(encoding="utf-8")
        # A page may also only name a file.
        shown.update((page.parent / path).resolve() for path in re.findall(r"\]\((examples/\S+?)\)", text))

        def block(found):
            path = page.parent / found["path"]
            shown.add(path.resolve())
            if not path.is_file():
                complaints.append(f"{page}: there is no file {found['path']}")
                return found[0]
            code = code_of(path)
            if code != found["code"] and not write:
                complaints.append(f"{page}: the block differs from {found['path']}; scripts/check-examples --write "
                                  "updates it")
            return f"<!-- file: {found['path']} -->\n{found['fence']}{found['kind']}\n{code}{found['fence']}"

        expected = BLOCK.sub(block, text)
        if len(BLOCK.findall(text)) != text.count("<!-- file:"):
            complaints.append(f"{page}: expected a code block after each line <!-- file: … -->; found another")
        if write and expected != text:
            page.write_text(expected, encoding="utf-8")
    for path in sorted(EXAMPLES.glob("*/**/*")):
        if path.is_file() and not any(part in UNTRACKED for part in path.parts) and path not in shown:
            complaints.append(f"{path.relative_to(EXAMPLES.parent.parent)} is on no page")
    for complaint in complaints:
        print(f"check-examples: {complaint}", file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
