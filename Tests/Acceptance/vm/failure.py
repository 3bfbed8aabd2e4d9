# SPDX-License-Identifier: Apache-2.0
"""Why the guest can't be had."""


class Unavailable(Exception):
    """Something that the guest needs is missing, or does not work; the text says what."""
