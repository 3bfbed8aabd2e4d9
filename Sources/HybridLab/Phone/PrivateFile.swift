// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram

/// A file that belongs to this user.
///
/// The file is read and replaced only if no other user can have created or changed it.
struct PrivateFile: Sendable {
    /// The file's path.
    let path: String

    /// Locks the file for this process; creates an empty file with mode 0600 if there is none.
    ///
    /// - Throws: ``CommandFailure`` if the file cannot be used, or if another process has locked it.
    func lock() throws(CommandFailure) -> Lock {
        while true {
            // O_NONBLOCK prevents blocking if the path is a named pipe, which is rejected below.
            var descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
            if descriptor < 0, errno == ENOENT {
                descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
                // Another process has created the file in the meantime.
                if descriptor < 0, errno == EEXIST { continue }
                guard descriptor >= 0 else { throw failed("can't be written", .ioError) }
            }
            guard descriptor >= 0 else {
                throw errno == ELOOP ? refused("is a symbolic link") : failed("can't be read", .noInput)
            }
            let lock = Lock(descriptor: descriptor)
            var (status, found) = (stat(), stat())
            guard fstat(descriptor, &status) == 0 else { throw failed("can't be read", .noInput) }
            try check(status)
            guard lock.acquire() else {
                let sentence = "\(path) is in use by another phone; wait until it has ended, or use a different file"
                throw CommandFailure(sentence, status: .temporary)
            }
            // The previous holder of the lock may have replaced the file.
            if lstat(path, &found) == 0, found.st_dev == status.st_dev, found.st_ino == status.st_ino { return lock }
        }
    }

    /// Reads the whole locked file; throws if it is longer than `limit` bytes.
    func read(_ lock: Lock, atMost limit: Int) throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = Glibc.read(lock.descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failed("can't be read", .noInput) }
            if count == 0 { return bytes }
            bytes += chunk[..<count]
            guard bytes.count <= limit else {
                throw CommandFailure(
                    "\(path) is longer than \(limit >> 20) MiB; use a different file",
                    status: .noInput
                )
            }
        }
    }

    /// Replaces the file durably and atomically with a file of mode 0600.
    ///
    /// - Returns: The lock of the new file, acquired before any process can open it.
    func replace(with bytes: [UInt8]) throws(CommandFailure) -> Lock {
        let start = path.utf8.lastIndex(of: UInt8(ascii: "/")).map(path.utf8.index(after:)) ?? path.startIndex
        let (folder, name) = (String(path[..<start]), String(path[start...]))
        let directory = open(folder.isEmpty ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw failed("can't be written", .ioError) }
        defer { close(directory) }
        var status = stat()
        if fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 {
            try check(status)
        } else if errno != ENOENT {
            throw failed("can't be written", .ioError)
        }
        // The name is random, and O_EXCL requires that it does not exist.
        let draft = ".hybrid-lab-\(String(UInt64.random(in: .min ... .max), radix: 16)).new"
        let descriptor = openat(directory, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failed("can't be written", .ioError) }
        let lock = Lock(descriptor: descriptor)
        guard lock.acquire(), writeAll(bytes, to: descriptor), fsync(descriptor) == 0,
            renameat(directory, draft, directory, name) == 0
        else {
            let failure = failed("can't be written", .ioError)
            unlinkat(directory, draft, 0)
            throw failure
        }
        // Some file systems return EINVAL because they do not support fsync for directories. Their metadata is
        // consistent without it.
        guard fsync(directory) == 0 || errno == EINVAL else { throw failed("can't be written", .ioError) }
        return lock
    }

    private func check(_ status: stat) throws(CommandFailure) {
        if status.st_mode & S_IFMT == S_IFLNK { throw refused("is a symbolic link") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw refused("is not a regular file") }
        guard status.st_uid == geteuid() else { throw refused("belongs to another user") }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            let sentence = "other users can write to \(path); check its contents, then run: chmod 600 \(path)"
            throw CommandFailure(sentence, status: .notPermitted)
        }
    }

    private func refused(_ what: String) -> CommandFailure {
        CommandFailure("\(path) \(what); name a file of your own", status: .notPermitted)
    }

    private func failed(_ what: String, _ status: ExitStatus) -> CommandFailure {
        CommandFailure("\(path) \(what): \(String(cString: strerror(errno)))", status: status)
    }

    /// An exclusive lock on a file, which is released when the object is deallocated.
    final class Lock: Sendable {
        fileprivate let descriptor: Int32

        /// Creates a lock that takes ownership of the descriptor but is not yet acquired.
        fileprivate init(descriptor: Int32) { self.descriptor = descriptor }

        deinit { close(descriptor) }

        /// Locks the file.
        ///
        /// - Returns: `false` if another process has locked the file. On file systems without locks, the result is
        ///   always `true`.
        fileprivate func acquire() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK }
    }
}
