// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// The descriptors 0, 1 and 2, which a program is started with.
public enum StandardDescriptors {
    /// Takes those that are closed, so that no file or connection of ours gets such a number: what is meant for a reader
    /// of messages would be written into it.
    ///
    /// What stands in for them can't be read or written, so that it is noticed as before. To be called first of all.
    public static func occupyClosed() {
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest number that is free, which is this one.
            _ = open("/dev/null", mode)
        }
    }
}
