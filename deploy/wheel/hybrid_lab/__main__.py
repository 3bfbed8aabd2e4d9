# SPDX-License-Identifier: Apache-2.0
"""The command `hybrid-lab`."""
import os
import sys

from hybrid_lab import environment, program


def main():
    os.execve(program(), ["hybrid-lab", *sys.argv[1:]], environment())


if __name__ == "__main__":
    main()
