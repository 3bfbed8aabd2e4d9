// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridPrimitives

/// Files of TLS sessions in a folder: the session's key, followed by BoringSSL's serialization of the session.
///
/// Errors of the file system and unexpected contents mean that there is no session.
struct TLSSessionFiles: Sendable {
    private static let suffix = ".tls"
    /// The end of the names of files that are being written, which begin with a dot.
    private static let temporarySuffix = suffix + ".new"

    private let folder: String

    /// Creates the files of a folder, an absolute path.
    init(folder: String) { self.folder = folder }

    /// The path of the file for a key.
    func path(_ key: TLSSessions.Key) -> String { "\(folder)/\(name(key))" }

    private func name(_ key: TLSSessions.Key) -> String { Hex.encode(Array(key.digest.prefix(16))) + Self.suffix }

    /// Removes the file of a session and returns the session; `nil` if there is none, or if it is for another key.
    ///
    /// No two callers get the same session, not even of two processes.
    func take(_ key: TLSSessions.Key) -> TLSSession? {
        let descriptor = open(path(key), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // The lock makes the count of names reliable: another caller has removed the last one, or has to wait.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_nlink == 1, status.st_mode & S_IFMT == S_IFREG,
            status.st_uid == geteuid(), status.st_mode & 0o077 == 0, unlink(path(key)) == 0
        else { return nil }
        // One byte more than allowed, so that a longer file is noticed.
        let contents = SecretBytes(count: TLSSessions.Key.length + TLSSession.maximumLength + 1)
        var count = 0
        while count < contents.memory.count {
            let target = UnsafeMutableRawBufferPointer(rebasing: contents.memory[count...])
            let result = read(descriptor, target.baseAddress, target.count)
            if result < 0, errno == EINTR { continue }
            guard result >= 0 else { return nil }
            if result == 0 { break }
            count += result
        }
        let bytes = UnsafeRawBufferPointer(rebasing: contents.memory[..<count])
        guard bytes.starts(with: key.digest) else { return nil }
        return TLSSession(bytes: UnsafeRawBufferPointer(rebasing: bytes[TLSSessions.Key.length...]))
    }

    /// Writes a session in place of an older one for the same key.
    func put(_ session: TLSSession, for key: TLSSessions.Key) {
        let temporary = "\(folder)/.\(name(key)).new"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        let isWritten =
            key.digest.withUnsafeBytes { Self.write($0, to: descriptor) }
            && session.withUnsafeBytes { Self.write($0, to: descriptor) }
        close(descriptor)
        // Without a flush to the disk: after a power failure, the file may be empty, which means no session.
        if !isWritten || rename(temporary, path(key)) != 0 { unlink(temporary) }
    }

    /// Removes the files of all sessions, and those that an interrupted ``put(_:for:)`` left behind.
    func removeAll() {
        guard let directory = opendir(folder) else { return }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { field in
                String(decoding: field.prefix { $0 != 0 }, as: UTF8.self)
            }
            let isTemporary = name.hasPrefix(".") && name.hasSuffix(Self.temporarySuffix)
            if isTemporary || name.hasSuffix(Self.suffix) { unlink("\(folder)/\(name)") }
        }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest)
            let count = Glibc.write(descriptor, part.baseAddress, part.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
