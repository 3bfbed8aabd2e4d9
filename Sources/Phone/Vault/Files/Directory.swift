// SPDX-License-Identifier: Apache-2.0

private import CHybridLinux
private import Glibc
internal import HybridPrimitives

/// An open directory.
///
/// Its files are accessed relative to its descriptor, so replacing a component of the path has no effect.
final class Directory: Sendable {
    /// Prefix of temporary files; leftovers are ignored everywhere.
    static let temporaryPrefix = ".hybrid-tmp-"

    /// The path as it was opened, for messages.
    let path: String
    private let descriptor: Int32

    private init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    /// Opens a directory by path; the path itself may contain symbolic links.
    static func open(path: String) throws(FileError) -> Directory {
        let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .current }
        return Directory(descriptor: descriptor, path: path)
    }

    /// Opens a directory; creates it and missing parents with mode 0700.
    static func make(path: String) throws(FileError) -> Directory {
        var prefix = path.hasPrefix("/") ? "/" : ""
        for component in path.split(separator: "/") {
            prefix += component
            if mkdir(prefix, 0o700) == 0 {
                FileStep.record(.madeDirectory(prefix))
                // Best effort: the parent may not be readable.
                try? open(path: prefix + "/..").sync()
            } else if errno != EEXIST, errno != EISDIR {
                // mkdir may fail on an existing parent (read-only, another owner); only a missing parent is a failure.
                let failure = FileError.current
                guard access(prefix, F_OK) == 0 else { throw failure }
            }
            prefix += "/"
        }
        return try open(path: path)
    }

    /// Returns true if this user owns the directory, and the permission bits.
    func status() throws(FileError) -> (isOurs: Bool, mode: UInt32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .current }
        return (status.st_uid == geteuid(), status.st_mode & 0o7777)
    }

    /// The directory's file system if it keeps no permissions; otherwise `nil`.
    var foreignFileSystem: ForeignFileSystem? {
        var status = statfs()
        guard fstatfs(descriptor, &status) == 0 else { return nil }
        return ForeignFileSystem(type: UInt32(truncatingIfNeeded: status.f_type))
    }

    /// Opens a subdirectory, never through a symbolic link.
    func subdirectory(_ name: String) throws(FileError) -> Directory {
        let child = openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard child >= 0 else {
            // With O_DIRECTORY, the kernel may report a symbolic link as "not a directory".
            let failure = FileError.current
            let isSymbolicLink = status(of: name).map { $0.st_mode & S_IFMT == S_IFLNK } ?? false
            throw isSymbolicLink ? .symbolicLink : failure
        }
        let directory = Directory(descriptor: child, path: path + "/" + name)
        guard try directory.status().isOurs else { throw .notOurs }
        return directory
    }

    /// Opens a subdirectory; creates it durably if it is missing.
    func makeSubdirectory(_ name: String) throws(FileError) -> Directory {
        if mkdirat(descriptor, name, 0o700) == 0 {
            FileStep.record(.madeDirectory(path + "/" + name))
        } else if errno != EEXIST {
            throw .current
        }
        // Synced even if it existed: its creator, a killed process or a sync tool, may not have synced it.
        try sync()
        return try subdirectory(name)
    }

    /// Returns all names except `.` and `..`, sorted; throws if there are more than `limit`.
    func names(limit: Int) throws(FileError) -> [String] {
        var names: [String] = []
        try forEachName { name throws(FileError) in
            names.append(name)
            guard names.count <= limit else { throw .tooLarge }
        }
        return names.sorted()
    }

    /// Returns the first `limit` names that satisfy `isWanted`, sorted; other names do not count.
    func firstNames(_ limit: Int, where isWanted: (String) -> Bool) throws(FileError) -> [String] {
        var names: [String] = []
        try forEachName { name throws(FileError) in
            guard isWanted(name) else { return }
            names.append(name)
            if names.count > 2 * limit { names = Array(names.sorted().prefix(limit)) }
        }
        return Array(names.sorted().prefix(limit))
    }

    /// Returns at most `limit` names, sorted, and whether these are all.
    ///
    /// If there are more, those that `isPreferred` accepts come first, so that files added by a server displace no
    /// other.
    func names(
        upTo limit: Int,
        preferring isPreferred: (String) -> Bool = { _ in false }
    ) throws(FileError) -> (names: [String], areAll: Bool) {
        do {
            return (try names(limit: limit), true)
        } catch .tooLarge {
            let preferred = try firstNames(limit, where: isPreferred)
            let others = try firstNames(limit - preferred.count) { !isPreferred($0) }
            return ((preferred + others).sorted(), false)
        }
    }

    private func forEachName(_ body: (String) throws(FileError) -> Void) throws(FileError) {
        // A new descriptor is opened, because reading moves the position, which duplicates of a descriptor share.
        let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { throw .current }
        guard let stream = fdopendir(copy) else {
            let failure = FileError.current
            close(copy)
            throw failure
        }
        defer { closedir(stream) }
        errno = 0
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { try body(name) }
            errno = 0
        }
        guard errno == 0 else { throw .current }
    }

    /// Returns true if the name is a directory or a symbolic link to one.
    func containsDirectory(_ name: String) -> Bool {
        status(of: name, flags: 0).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    }

    /// Returns true if the name exists, whatever its type.
    func contains(_ name: String) -> Bool { status(of: name) != nil }

    /// Reads a regular file of this user, at most `limit` bytes long.
    func read(_ name: String, limit: Int) throws(FileError) -> [UInt8] {
        // O_NONBLOCK, so that opening a named pipe does not block before its type is checked.
        let file = openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard file >= 0 else { throw .current }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw .current }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .wrongKind }
        guard status.st_uid == geteuid() else { throw .notOurs }
        guard status.st_size <= limit else { throw .tooLarge }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = Glibc.read(file, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .current }
            if count == 0 { return bytes }
            bytes += chunk[..<count]
            // The file may grow while it is read.
            guard bytes.count <= limit else { throw .tooLarge }
        }
    }

    /// Writes a file atomically with mode 0600.
    ///
    /// After a power failure the new file is either complete or absent.
    ///
    /// - Parameters:
    ///   - name: The name of the file.
    ///   - bytes: The contents of the file.
    ///   - replacing: True to replace an existing file; otherwise an existing name throws ``FileError/exists``.
    func write(_ name: String, _ bytes: [UInt8], replacing: Bool) throws(FileError) {
        let temporary = Self.temporaryPrefix + Hex.encode([UInt8].random(8))
        do {
            try writeTemporary(temporary, bytes)
            try place(temporary, as: name, replacing: replacing)
        } catch {
            unlinkat(descriptor, temporary, 0)
            throw error
        }
        do {
            try sync()
        } catch {
            // A file that may not survive a power failure must not be visible.
            if !replacing { unlinkat(descriptor, name, 0) }
            throw error
        }
    }

    /// Writes a new file with mode 0600 without a temporary name.
    ///
    /// If the program is killed meanwhile, no file remains. On file systems that do not support unnamed files, an
    /// incomplete file may remain under the requested name.
    func writeUnnamed(_ name: String, _ bytes: [UInt8]) throws(FileError) {
        guard !contains(name) else { throw .exists }
        if try !linkUnnamed(name, bytes) {
            let file = openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard file >= 0 else { throw .current }
            defer { close(file) }
            do {
                try Self.fill(file, bytes)
            } catch {
                unlinkat(descriptor, name, 0)
                throw error
            }
        }
        do {
            try sync()
        } catch {
            unlinkat(descriptor, name, 0)
            throw error
        }
    }

    /// Writes an unnamed file, then links it to its name; returns false if the system does not support that.
    private func linkUnnamed(_ name: String, _ bytes: [UInt8]) throws(FileError) -> Bool {
        // Glibc's O_TMPFILE is a macro that Swift cannot import; this is its value on every Linux platform of Swift.
        let file = openat(descriptor, ".", O_WRONLY | 0o20000000 | O_DIRECTORY | O_CLOEXEC, 0o600)
        guard file >= 0 else { return false }
        defer { close(file) }
        try Self.fill(file, bytes)
        // Without a capability, only /proc can link an unnamed file, and a minimal container may lack /proc.
        guard linkat(AT_FDCWD, "/proc/self/fd/\(file)", descriptor, name, AT_SYMLINK_FOLLOW) != 0 else { return true }
        guard errno != EEXIST else { throw .exists }
        return false
    }

    /// Removes files durably; missing ones are skipped.
    func remove(_ names: [String]) throws(FileError) {
        for name in names {
            if unlinkat(descriptor, name, 0) == 0 {
                FileStep.record(.removed(path + "/" + name))
            } else if errno != ENOENT {
                throw .current
            }
        }
        if !names.isEmpty { try sync() }
    }

    /// Returns the modification time of a file in seconds since 1970; `nil` if it is unknown.
    func modified(_ name: String) -> UInt64? { status(of: name).map { UInt64(clamping: $0.st_mtim.tv_sec) } }

    private func writeTemporary(_ name: String, _ bytes: [UInt8]) throws(FileError) {
        let file = openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .current }
        defer { close(file) }
        FileStep.record(.created(path + "/" + name))
        try Self.fill(file, bytes)
        FileStep.record(.wrote(path + "/" + name, bytes))
        FileStep.record(.syncedFile(path + "/" + name))
    }

    /// Writes all bytes to a file and syncs the file.
    private static func fill(_ file: Int32, _ bytes: [UInt8]) throws(FileError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .current }
            rest = rest.dropFirst(count)
        }
        guard fsync(file) == 0 else { throw .current }
    }

    private func place(_ temporary: String, as name: String, replacing: Bool) throws(FileError) {
        if !replacing {
            // Unlike a rename, a hard link never overwrites.
            if linkat(descriptor, temporary, descriptor, name, 0) == 0 {
                FileStep.record(.linked(from: path + "/" + temporary, to: path + "/" + name))
                unlinkat(descriptor, temporary, 0)
                FileStep.record(.removed(path + "/" + temporary))
                return
            }
            // File systems without hard links (FAT, some network ones) need a check and a rename. The name contains
            // this device's ID or is random, so no other writer uses it.
            guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK, EACCES].contains(errno) else { throw .current }
            guard !contains(name) else { throw .exists }
        }
        guard renameat(descriptor, temporary, descriptor, name) == 0 else { throw .current }
        FileStep.record(.renamed(from: path + "/" + temporary, to: path + "/" + name))
    }

    private func sync() throws(FileError) {
        // Some file systems report EINVAL for fsync of a directory; they keep metadata in order anyway.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw .current }
        FileStep.record(.syncedDirectory(AbsolutePath.normalize(path)))
    }

    /// Returns true if no other user can access a file of the directory, or if it is missing.
    func isPrivate(_ name: String) -> Bool { status(of: name).map { $0.st_mode & 0o077 == 0 } ?? true }

    /// Returns the status of a name, by default without following symbolic links; `nil` if it cannot be read.
    private func status(of name: String, flags: Int32 = AT_SYMLINK_NOFOLLOW) -> stat? {
        var status = stat()
        return fstatat(descriptor, name, &status, flags) == 0 ? status : nil
    }
}
