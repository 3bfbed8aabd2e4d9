# SPDX-License-Identifier: Apache-2.0
"""Reasons for which the guest is unavailable."""


class Unavailable(Exception):
    """A prerequisite of the guest is missing or does not work; the text says which."""
