// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram

/// The file `auth.env`, which is changed so that all other lines are kept.
struct SetupFile {
    /// Path of the file.
    let path: String
    private let old: [UInt8]?
    private let isPrivate: Bool

    /// Reads the file; a file that does not exist counts as empty.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - hasSettings: False for a file whose lines are no settings.
    /// - Throws: ``CommandFailure`` if it cannot be read or parsed. A malformed file is not repaired.
    init(path: String, hasSettings: Bool = true) throws(CommandFailure) {
        // A symbolic link is kept; its target is changed.
        self.path = resolvedPath(path) ?? path
        var status = stat()
        guard lstat(self.path, &status) != 0 || status.st_mode & S_IFMT != S_IFLNK else {
            throw CommandFailure("\(path) is a link that leads nowhere; fix or remove it", status: .configuration)
        }
        old = try Self.content(self.path)
        isPrivate = stat(self.path, &status) == 0 && status.st_mode & 0o7777 == 0o600
        if hasSettings { _ = try assignments(old ?? []) }
    }

    /// Returns the value of a name, if the file has one.
    func value(of name: String) throws(CommandFailure) -> String? {
        try assignments(old ?? []).first { $0.name == name }?.value
    }

    /// Returns true if the file names this relay.
    func names(_ domain: TunnelDomain) throws(CommandFailure) -> Bool {
        try value(of: "HYBRID_TUNNEL_DOMAIN").flatMap { TunnelDomain(argument: $0) }?.id == domain.id
    }

    /// Returns the bytes of the file with some values changed, added or removed; all other lines are kept.
    ///
    /// - Parameter changes: Names and values, in the order in which new ones are added. A name without a value is
    ///   removed.
    /// - Throws: ``CommandFailure`` for a value that the format cannot express.
    func changed(_ changes: [(name: String, value: String?)]) throws(CommandFailure) -> [UInt8] {
        var bytes = old ?? []
        for (name, value) in changes {
            let given = try assignments(bytes).first { $0.name == name }
            guard let value else {
                if let given { bytes = Self.replacing(given, in: bytes, by: nil) }
                continue
            }
            guard let line = EnvironmentFile.line(name, value) else {
                throw CommandFailure("the value for \(name) can't be written to a file", status: .usage)
            }
            guard let given else {
                if !bytes.isEmpty, bytes.last != UInt8(ascii: "\n") { bytes.append(UInt8(ascii: "\n")) }
                bytes += Array(line.utf8)
                continue
            }
            if !given.value.utf8.elementsEqual(value.utf8) { bytes = Self.replacing(given, in: bytes, by: line) }
        }
        try checkNothingLost(bytes, but: changes.map(\.name))
        return bytes
    }

    /// Returns true if the file already has these bytes and mode 0600.
    func holds(_ bytes: [UInt8]) -> Bool { old == bytes && isPrivate }

    /// Replaces the file atomically and durably, with mode 0600.
    ///
    /// - Throws: ``CommandFailure``, for example if the file was changed since it was read.
    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        let folder = Self.folder(of: path)
        try Self.makeFolder(folder)
        let template = strdup("\(path).XXXXXX")
        defer { free(template) }
        // mkstemp sets mode 0600.
        guard let template, case let file = mkstemp(template), file >= 0 else { throw failure("created") }
        let isWritten = writeAll(bytes, to: file) && fsync(file) == 0
        let error = errno
        close(file)
        // The checks and questions take time; a change made meanwhile must not be lost.
        do throws(CommandFailure) {
            guard try Self.content(path) == old else {
                throw CommandFailure("\(path) has changed in the meantime; run setup again", status: .temporary)
            }
        } catch {
            unlink(template)
            throw error
        }
        guard isWritten, rename(template, path) == 0 else {
            let cause = isWritten ? errno : error
            unlink(template)
            errno = cause
            throw failure("written")
        }
        let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        fsync(directory)
        close(directory)
    }

    private func failure(_ what: String) -> CommandFailure {
        CommandFailure("\(path) can't be \(what): \(String(cString: strerror(errno)))", status: .ioError)
    }

    /// Returns the bytes with the lines of an assignment replaced by one line or none.
    private static func replacing(
        _ given: EnvironmentFile.Assignment,
        in bytes: [UInt8],
        by line: String?
    ) -> [UInt8] {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
        let start = given.line - 1
        // The fewest lines that parse as this assignment.
        let end = (start..<lines.count).first { last in
            let part = lines[start...last].joined(separator: [UInt8(ascii: "\n")])
            guard let read = try? EnvironmentFile(Array(part)).assignments, read.count == 1 else { return false }
            return read[0].name == given.name && read[0].value.utf8.elementsEqual(given.value.utf8)
        }
        var changed = lines
        changed.replaceSubrange(start...(end ?? start), with: line.map { [Array($0.utf8.dropLast())] } ?? [])
        return Array(changed.joined(separator: [UInt8(ascii: "\n")]))
    }

    /// Parses both versions and throws if any other assignment differs.
    private func checkNothingLost(_ bytes: [UInt8], but names: [String]) throws(CommandFailure) {
        func others(_ bytes: [UInt8]) throws(CommandFailure) -> [[String]] {
            try assignments(bytes).filter { !names.contains($0.name) }.map { [$0.name, $0.value] }
        }
        guard try others(bytes) == others(old ?? []) else {
            throw CommandFailure("\(path): its lines can't be changed safely; please edit it", status: .configuration)
        }
    }

    private func assignments(_ bytes: [UInt8]) throws(CommandFailure) -> [EnvironmentFile.Assignment] {
        try EnvironmentFile.assignments(bytes, path: path)
    }

    /// Returns the contents of the file; `nil` if it does not exist.
    private static func content(_ path: String) throws(CommandFailure) -> [UInt8]? {
        do throws(FileReadError) {
            return try readWholeFile(path, atMost: EnvironmentFile.maximumSize)
        } catch .missing {
            return nil
        } catch {
            throw CommandFailure("\(path): \(error.sentence)", status: .noInput)
        }
    }

    /// Returns the path of the file for a token from a link, in the folder of the settings.
    ///
    /// Each relay has a file of its own: an interruption between the token and the settings gives no relay the token of
    /// another one.
    static func tokenPath(for domain: TunnelDomain, nextTo path: String) -> String {
        "\(folder(of: path))/relay-token-\(domain.id)"
    }

    /// Returns true if a file with mode 0600 holds the token.
    static func holds(_ token: BearerToken, at path: String) throws(CommandFailure) -> Bool {
        var line = line(token)
        defer { SecretBytes.wipe(&line) }
        return try SetupFile(path: path, hasSettings: false).holds(line)
    }

    /// Writes a token to a file of its own, as ``write(_:)`` does.
    static func write(_ token: BearerToken, to path: String) throws(CommandFailure) {
        var line = line(token)
        defer { SecretBytes.wipe(&line) }
        try SetupFile(path: path, hasSettings: false).write(line)
    }

    private static func line(_ token: BearerToken) -> [UInt8] {
        token.withUnsafeBytes { Array($0) } + [UInt8(ascii: "\n")]
    }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }

    /// Creates the directory and its parents, with mode 0700 as the XDG specification requires.
    private static func makeFolder(_ path: String) throws(CommandFailure) {
        guard !path.isEmpty, mkdir(path, 0o700) != 0, errno != EEXIST else { return }
        if errno == ENOENT {
            try makeFolder(folder(of: path))
            if mkdir(path, 0o700) == 0 { return }
        }
        throw CommandFailure("\(path) can't be created: \(String(cString: strerror(errno)))", status: .ioError)
    }
}

/// Returns the absolute path of an existing file, without links and dots; `nil` if it does not exist.
func resolvedPath(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
}
