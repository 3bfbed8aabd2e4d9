// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridPrimitives
package import HybridProgram

/// A folder with the state of a program, which only its user can access.
///
/// A file is replaced as a whole, so that a power failure leaves either the old or the new contents. Writers hold a lock.
package struct StateFolder: Sendable {
    /// The path of the folder.
    package let path: String
    /// The time for another process to release the lock.
    private let patience: Duration

    /// Creates the folder if it is missing.
    ///
    /// - Parameter path: The absolute path of the folder.
    /// - Throws: ``CommandFailure`` if the folder can't be created or other users can access it.
    package init(path: String) throws(CommandFailure) { try self.init(path: path, patience: AdvisoryLock.patience) }

    /// Creates the folder with another time for locks.
    package init(path: String, patience: Duration) throws(CommandFailure) {
        self.path = path
        self.patience = patience
        var prefix = ""
        for component in path.split(separator: "/") {
            prefix += "/" + component
            guard mkdir(prefix, 0o700) != 0, errno != EEXIST else { continue }
            let reason = errno
            // The call may fail for an existing parent, for example on a read-only file system.
            guard access(prefix, F_OK) == 0 else { throw Self.notWritten(prefix, reason) }
        }
        var status = stat()
        guard lstat(path, &status) == 0 else { throw Self.notWritten(path, errno) }
        guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
            throw CommandFailure(
                "\(path) is accessible to other users; run: chown \(geteuid()) \(path); chmod 700 \(path)",
                status: .notPermitted
            )
        }
    }

    /// An identification of the contents of a file, which differs after each replacement.
    package struct Stamp: Hashable, Sendable {
        let inode: UInt
        /// The length in bytes.
        package let size: Int
        let seconds, nanoseconds: Int
    }

    /// Returns the stamp of a file; `nil` if there is none.
    package func stamp(of name: String) -> Stamp? {
        var status = stat()
        guard lstat(file(name), &status) == 0 else { return nil }
        let changed = status.st_mtim
        return Stamp(inode: status.st_ino, size: status.st_size, seconds: changed.tv_sec, nanoseconds: changed.tv_nsec)
    }

    /// Returns the contents of a file; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - name: The name of the file.
    ///   - limit: The maximum length in bytes.
    /// - Throws: ``CommandFailure`` if the file is not a regular file of this user, is too long or can't be read.
    package func read(_ name: String, atMost limit: Int) throws(CommandFailure) -> [UInt8]? {
        let descriptor = open(file(name), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw unreadable(name, String(cString: strerror(errno)))
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw unreadable(name, String(cString: strerror(errno))) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            throw unreadable(name, "it is not a regular file of this user")
        }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16384)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(name, String(cString: strerror(errno))) }
            if count == 0 { return bytes }
            bytes += chunk[..<count]
            guard bytes.count <= limit else { throw unreadable(name, "it has more than \(limit) bytes") }
        }
    }

    /// Returns the names of files in the folder, in alphabetical order; names that begin with a dot are left out.
    ///
    /// - Parameter suffix: The end of each name.
    /// - Throws: ``CommandFailure`` if the folder can't be read.
    package func names(endingIn suffix: String) throws(CommandFailure) -> [String] {
        guard let directory = opendir(path) else { throw unreadable("", String(cString: strerror(errno))) }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { field in
                field.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: field.pointee)) {
                    String(cString: $0)
                }
            }
            if name.hasSuffix(suffix), !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }

    /// Removes a file; a missing file is not an error.
    package func remove(_ name: String) throws(CommandFailure) {
        guard unlink(file(name)) == 0 || errno == ENOENT else { throw Self.notWritten(file(name), errno) }
    }

    /// Replaces a file; its mode is 0600.
    package func replace(_ name: String, with bytes: [UInt8]) throws(CommandFailure) {
        let temporary = file(".\(name).new")
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.notWritten(temporary, errno) }
        let isWritten = writeAll(bytes, to: descriptor) && fsync(descriptor) == 0
        let reason = errno
        close(descriptor)
        guard isWritten, rename(temporary, file(name)) == 0 else {
            defer { unlink(temporary) }
            throw Self.notWritten(file(name), isWritten ? errno : reason)
        }
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }

    /// Appends bytes to a file, all or none; its mode is 0600.
    package func append(_ bytes: [UInt8], to name: String) throws(CommandFailure) {
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let descriptor = open(file(name), flags, 0o600)
        guard descriptor >= 0 else { throw Self.notWritten(file(name), errno) }
        defer { close(descriptor) }
        let end = lseek(descriptor, 0, SEEK_END)
        guard writeAll(bytes, to: descriptor) else {
            let reason = errno
            // A part of a line would spoil the next one.
            if end >= 0 { ftruncate(descriptor, end) }
            throw Self.notWritten(file(name), reason)
        }
    }

    /// Runs `body` while no other process changes the folder.
    ///
    /// - Throws: ``CommandFailure`` if another process keeps the lock, and the errors of `body`.
    package func whileLocked<Result>(
        _ body: () throws(CommandFailure) -> Result
    ) throws(CommandFailure) -> Result {
        let descriptor = open(file(".lock"), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.notWritten(file(".lock"), errno) }
        defer { close(descriptor) }
        let code = AdvisoryLock.take(descriptor, within: patience)
        guard code != EWOULDBLOCK else {
            throw CommandFailure("\(path) can't be written: another process keeps its lock", status: .temporary)
        }
        guard code == 0 else { throw Self.notWritten(file(".lock"), code) }
        return try body()
    }

    /// Returns the path of a file in the folder.
    package func file(_ name: String) -> String { "\(path)/\(name)" }

    private func unreadable(_ name: String, _ reason: String) -> CommandFailure {
        CommandFailure("\(file(name)) can't be read: \(reason)", status: .noInput)
    }

    private static func notWritten(_ path: String, _ number: CInt) -> CommandFailure {
        CommandFailure("\(path) can't be written: \(String(cString: strerror(number)))", status: .ioError)
    }
}
