# SPDX-License-Identifier: Apache-2.0
"""Parts of a test environment, stopped in reverse order of their start."""
import contextlib


class TestEnvironment(contextlib.AbstractContextManager):
    """Parts are started in `start` and passed to `keep`; `complaints` holds the errors found when they were stopped."""

    # The first line of the suite's output, such as the version of a counterpart.
    heading = None

    def __init__(self):
        self.complaints = []
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.before_stop(failed=True)
            self._stack.close()
            raise
        return self

    def __exit__(self, kind, _error, _trace):
        self.before_stop(failed=kind is not None)
        self._stack.close()

    def keep(self, part):
        """Returns a part, and calls its `stop` at the end."""
        def stop():
            self.complaints += part.stop()

        self._stack.callback(stop)
        return part

    def start(self):
        raise NotImplementedError

    def after_case(self, name, failed):
        """Called after each case; returns further errors."""
        return []

    def before_stop(self, failed):
        """Called while all parts still run."""
