// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives

/// The file of `up --env-file`, which exists for as long as the lab environment.
struct EnvironmentFile {
    private let path: String
    /// Stays open, so that no other file gets this file's inode number.
    private let descriptor: Int32
    private let status: stat

    private static let firstLine = Array("export DBUS_SYSTEM_BUS_ADDRESS='unix:path=".utf8)
    /// A length that no environment file reaches.
    private static let maximumLength = 65536

    /// Writes the lines to a temporary file and links it to `path`, so that a program that waits for the file never
    /// reads a part of it.
    init(_ lines: [String], at path: String) throws(CommandFailure) {
        let draft = path + ".\(getpid()).new"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(path) }
        let bytes = Array((lines.joined(separator: "\n") + "\n").utf8)
        var status = stat()
        guard writeAll(bytes, to: descriptor), fstat(descriptor, &status) == 0,
            Self.removeIfStale(path), link(draft, path) == 0
        else {
            let refusal = errno == EEXIST ? Self.existing(path) : Self.failure(path)
            unlink(draft)
            close(descriptor)
            throw refusal
        }
        unlink(draft)
        (self.path, self.descriptor, self.status) = (path, descriptor, status)
    }

    /// Removes the file if it is still the one that was written.
    func remove() {
        defer { close(descriptor) }
        var found = stat()
        guard lstat(path, &found) == 0, found.st_dev == status.st_dev, found.st_ino == status.st_ino else { return }
        unlink(path)
    }

    /// Checks that `path` does not exist, or is the environment file of a lab that has ended.
    ///
    /// - Throws: ``CommandFailure`` otherwise.
    static func check(_ path: String) throws(CommandFailure) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), isStale(path) else {
            throw existing(path)
        }
    }

    /// Removes a stale file.
    ///
    /// - Returns: True if nothing is left at `path`.
    private static func removeIfStale(_ path: String) -> Bool {
        do throws(CommandFailure) {
            try check(path)
        } catch {
            errno = EEXIST
            return false
        }
        return unlink(path) == 0 || errno == ENOENT
    }

    /// Returns true if the file has the form of an environment file and no bus answers at its address.
    private static func isStale(_ path: String) -> Bool {
        guard let bytes = try? readWholeFile(path, atMost: maximumLength), bytes.starts(with: firstLine) else {
            return false
        }
        let line = bytes[firstLine.count...].prefix { $0 != UInt8(ascii: "\n") }
        guard line.last == UInt8(ascii: "'") else { return false }
        // dbus-daemon's form of the address: the path, then further keys.
        let socket = line.dropLast().prefix { $0 != UInt8(ascii: ",") }
        // The path of a private bus needs no escapes of the shell or of D-Bus.
        guard !socket.isEmpty, !socket.contains(UInt8(ascii: "'")), !socket.contains(UInt8(ascii: "%")) else {
            return false
        }
        return !mayAnswer(Array(socket))
    }

    /// Returns true if a process listens on the socket, or if that is unknown.
    private static func mayAnswer(_ socket: [UInt8]) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { place in
            guard socket.count < place.count else { return false }
            place.copyBytes(from: socket)
            return true
        }
        guard fits else { return true }
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = Glibc.socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        let isConnected = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        return isConnected || errno != ENOENT && errno != ECONNREFUSED
    }

    private static func existing(_ path: String) -> CommandFailure {
        CommandFailure("\(path) exists already; choose another name, or remove it", status: .ioError)
    }

    private static func failure(_ path: String) -> CommandFailure {
        CommandFailure("\(path) cannot be written: \(String(cString: strerror(errno)))", status: .ioError)
    }
}
