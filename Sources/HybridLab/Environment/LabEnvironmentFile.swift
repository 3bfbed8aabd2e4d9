// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram

/// The file of `up --env-file`, which exists as long as the lab environment is running.
struct LabEnvironmentFile {
    private let path: String
    /// The descriptor of the file, which stays open so that no other file can get the same inode number.
    private let descriptor: Int32
    private let status: stat

    private static let firstLine = Array("export DBUS_SYSTEM_BUS_ADDRESS='unix:path=".utf8)
    /// The maximum length of an environment file in bytes.
    private static let maximumLength = 65536

    /// Creates the file at `path` with these lines.
    ///
    /// The lines are written to a temporary file, which is then linked to `path`. Therefore a program that waits for
    /// the file never reads an incomplete one.
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

    /// Throws a ``CommandFailure`` unless `path` does not exist or is the environment file of a lab that has ended.
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

    /// Returns true if the file has the format of an environment file and no bus answers at its address.
    private static func isStale(_ path: String) -> Bool {
        guard let bytes = try? readWholeFile(path, atMost: maximumLength), bytes.starts(with: firstLine) else {
            return false
        }
        let line = bytes[firstLine.count...].prefix { $0 != UInt8(ascii: "\n") }
        guard line.last == UInt8(ascii: "'") else { return false }
        // In dbus-daemon's notation of the address, other keys follow the path.
        let socket = line.dropLast().prefix { $0 != UInt8(ascii: ",") }
        // The path of a private bus contains no characters that the shell or D-Bus would escape.
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
        CommandFailure("\(path) already exists; choose a different name, or remove it", status: .ioError)
    }

    private static func failure(_ path: String) -> CommandFailure {
        CommandFailure("\(path) cannot be written: \(String(cString: strerror(errno)))", status: .ioError)
    }
}
