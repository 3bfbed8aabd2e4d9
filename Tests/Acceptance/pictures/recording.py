# SPDX-License-Identifier: Apache-2.0
"""A recording of a program's output as an animated SVG, which follows the reader's light or dark theme.

Nobody scans a code that a renderer has drawn with gaps between its lines, so blocks become rectangles.
"""
import html
import subprocess
import time

# Size of a character and of the window in pixels and lines; the text is as wide as its longest line.
ADVANCE, HEIGHT, MARGIN, ROWS = 8.43, 18, 14, 34
# The recording plays this much slower than the program ran, with at least so many seconds between two lines of text; then
# it waits for some seconds and begins anew.
SLOWER, BETWEEN, AT_END = 20, 0.4, 8
# The upper and the lower half of a character cell that each block fills.
BLOCKS = {"█": (0, 2), "▀": (0, 1), "▄": (1, 2)}
STYLE = """
svg { background: #fff; --ink: #1f2328; --faint: #59636e; border-radius: 8px }
text { font: 14px "DejaVu Sans Mono", "Liberation Mono", Menlo, Consolas, monospace; fill: var(--ink); white-space: pre }
.head { font-weight: bold } .code { fill: #000 } .light { fill: #fff } rect, path { shape-rendering: crispEdges }
@media (prefers-color-scheme: dark) { svg { background: #16181d; --ink: #e0e0e0 } }
"""


def record(command, environment, seconds=60):
    """Runs a program; returns its lines with the seconds after which each was printed."""
    begun = time.monotonic()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, encoding="utf-8") as program:
        lines = [(time.monotonic() - begun, line.rstrip("\n")) for line in program.stdout]
        program.wait(seconds)
    if program.returncode:
        raise subprocess.CalledProcessError(program.returncode, command)
    return lines


def _is_code(line):
    return any(block in line for block in BLOCKS)


def _blocks(line, top):
    """Returns the path of a line of a code."""
    half, parts, column = HEIGHT // 2, [], 0
    while column < len(line):
        # Equal neighbors are one rectangle.
        end = next((at for at in range(column, len(line)) if line[at] != line[column]), len(line))
        if line[column] in BLOCKS:
            first, last = BLOCKS[line[column]]
            x, width = MARGIN + column * half, (end - column) * half
            parts.append(f"M{x} {top + first * half}h{width}v{(last - first) * half}h-{width}z")
        column = end
    return "".join(parts)


def svg(title, command, lines):
    """Returns the SVG of a recording."""
    shown = [(0, "$ " + command)]
    for at, line in lines:
        is_read = bool(line) and not _is_code(line)
        shown.append((max(at * SLOWER + 1, shown[-1][0] + is_read * BETWEEN), line))
    columns = max(len(line) for _, line in shown)
    width, height = columns * ADVANCE + 2 * MARGIN, ROWS * HEIGHT + 2 * MARGIN
    end = shown[-1][0] + AT_END
    keyframes, body, scroll = [], [], {}
    for row, (at, line) in enumerate(shown):
        top, percent = MARGIN + row * HEIGHT, 100 * at / end
        keyframes.append(f"@keyframes l{row} {{ 0%, {percent:.2f}% {{ opacity: 0 }} {percent + .01:.2f}%, 100% {{ opacity: 1 }} }}")
        if _is_code(line):
            code = (f'<rect class="code" x="{MARGIN}" y="{top}" width="{len(line) * HEIGHT // 2}" height="{HEIGHT}"/>'
                    f'<path class="light" d="{_blocks(line, top)}"/>')
        else:
            kind = "step" if line[:2].strip().isdigit() or line.startswith("$") else "head"
            code = f'<text class="{kind}" x="{MARGIN}" y="{top + HEIGHT - 5}">{html.escape(line)}</text>'
        body.append(f'<g style="animation-name:l{row}">{code}</g>')
        if row >= ROWS:
            scroll[percent] = (row - ROWS + 1) * HEIGHT
    steps = "".join(f" {percent:.2f}% {{ transform: translateY(-{offset}px) }}" for percent, offset in scroll.items())
    last = max(scroll.values(), default=0)
    keyframes.append(f"@keyframes scroll {{ 0% {{ transform: none }}{steps} 100% {{ transform: translateY(-{last}px) }} }}")
    motion = (f"g {{ animation: {end:.1f}s step-end infinite }} #all {{ animation-name: scroll }}\n"
              f"@media (prefers-reduced-motion: reduce) {{ g {{ animation: none }} "
              f"#all {{ transform: translateY(-{last}px) }} }}\n")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
            f'height="{height}" role="img" aria-label="{html.escape(title)}">\n<title>{html.escape(title)}</title>\n'
            f"<style>{STYLE}{motion}" + "\n".join(keyframes) + "</style>\n"
            f'<g id="all">\n' + "\n".join(body) + "\n</g>\n</svg>\n")
