// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridPrimitives

/// An open directory; files in it are reached from its descriptor, so that nobody can swap a path on the way.
final class Directory: Sendable {
    /// Names that a write in progress uses; one that was left behind is ignored everywhere.
    static let temporaryPrefix = ".hybrid-tmp-"

    /// Where it was opened, for messages.
    let path: String
    private let descriptor: Int32

    private init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    /// Opens a directory by path; the path itself may lead through symbolic links.
    static func open(path: String) throws(FileFailure) -> Directory {
        let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .current }
        return Directory(descriptor: descriptor, path: path)
    }

    /// Makes a directory and those above it, 0700, where they are missing, and opens it.
    static func make(path: String) throws(FileFailure) -> Directory {
        var prefix = path.hasPrefix("/") ? "/" : ""
        for component in path.split(separator: "/") {
            prefix += component
            if mkdir(prefix, 0o700) == 0 {
                FileJournal.note(.madeDirectory(prefix))
                // Best effort: what is above may not be readable to us.
                try? open(path: prefix + "/..").sync()
            } else if errno != EEXIST, errno != EISDIR {
                // A parent that exists may still refuse mkdir (read-only, not ours); only its absence matters.
                let failure = FileFailure.current
                guard access(prefix, F_OK) == 0 else { throw failure }
            }
            prefix += "/"
        }
        return try open(path: path)
    }

    /// Owner and permission bits.
    func status() throws(FileFailure) -> (isOurs: Bool, mode: UInt32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .current }
        return (status.st_uid == geteuid(), status.st_mode & 0o7777)
    }

    /// Opens a directory in this one, never through a symbolic link.
    func subdirectory(_ name: String) throws(FileFailure) -> Directory {
        let child = openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard child >= 0 else {
            // With O_DIRECTORY a symbolic link may be told as "not a directory".
            let failure = FileFailure.current
            throw isSymbolicLink(name) ? .symbolicLink : failure
        }
        let directory = Directory(descriptor: child, path: path + "/" + name)
        guard try directory.status().isOurs else { throw .notOurs }
        return directory
    }

    /// Opens a directory in this one and makes it first, durably, if it is missing.
    func makeSubdirectory(_ name: String) throws(FileFailure) -> Directory {
        if mkdirat(descriptor, name, 0o700) == 0 {
            FileJournal.note(.madeDirectory(path + "/" + name))
        } else if errno != EEXIST {
            throw .current
        }
        // Also one that was there: whoever made it, a run that was killed or a sync tool, may not have synced.
        try sync()
        return try subdirectory(name)
    }

    /// Every name in it but `.` and `..`, sorted; more than `limit` are refused.
    func names(limit: Int) throws(FileFailure) -> [String] {
        var names: [String] = []
        try forEachName { name throws(FileFailure) in
            names.append(name)
            guard names.count <= limit else { throw .tooLarge }
        }
        return names.sorted()
    }

    /// The first names in order of those that are wanted, however many there are.
    func firstNames(_ limit: Int, where isWanted: (String) -> Bool) throws(FileFailure) -> [String] {
        var names: [String] = []
        try forEachName { name throws(FileFailure) in
            guard isWanted(name) else { return }
            names.append(name)
            if names.count > 2 * limit { names = Array(names.sorted().prefix(limit)) }
        }
        return Array(names.sorted().prefix(limit))
    }

    private func forEachName(_ body: (String) throws(FileFailure) -> Void) throws(FileFailure) {
        // A second descriptor, because reading a directory moves the position that all copies share.
        let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { throw .current }
        guard let stream = fdopendir(copy) else {
            let failure = FileFailure.current
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

    /// Whether there is a directory of that name, perhaps by way of a symbolic link.
    func containsDirectory(_ name: String) -> Bool {
        var status = stat()
        return fstatat(descriptor, name, &status, 0) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Whether there is anything of that name, of whatever kind.
    func contains(_ name: String) -> Bool {
        var status = stat()
        return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0
    }

    /// Reads a regular file of ours, at most `limit` bytes long.
    func read(_ name: String, limit: Int) throws(FileFailure) -> [UInt8] {
        // O_NONBLOCK, so that a named pipe does not hold us before it is recognised.
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

    /// Writes a whole file, 0600, so that after a power cut it is there complete or not at all.
    ///
    /// - Parameter replacing: Whether a file of that name may be there; otherwise that is ``FileFailure/exists``.
    func write(_ name: String, _ bytes: [UInt8], replacing: Bool) throws(FileFailure) {
        let temporary = Self.temporaryPrefix + Hex.encode(RandomBytes.make(8))
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
            // What may not survive must not be seen either.
            if !replacing { unlinkat(descriptor, name, 0) }
            throw error
        }
    }

    /// Writes a whole new file, 0600, that has no other name on the way: whoever ends the program in between leaves
    /// nothing, or, where the file system makes no files without a name, a piece under the name that was asked for.
    func writeUnnamed(_ name: String, _ bytes: [UInt8]) throws(FileFailure) {
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

    /// Writes a file without a name and gives it one at the end; `false` where that can't be done.
    private func linkUnnamed(_ name: String, _ bytes: [UInt8]) throws(FileFailure) -> Bool {
        // Glibc's O_TMPFILE is a macro that Swift does not see; this is its value on all Linux that Swift knows.
        let file = openat(descriptor, ".", O_WRONLY | 0o20000000 | O_DIRECTORY | O_CLOEXEC, 0o600)
        guard file >= 0 else { return false }
        defer { close(file) }
        try Self.fill(file, bytes)
        // Without a capability a file can be linked only by way of /proc, which a small container may not have.
        guard linkat(AT_FDCWD, "/proc/self/fd/\(file)", descriptor, name, AT_SYMLINK_FOLLOW) != 0 else { return true }
        guard errno != EEXIST else { throw .exists }
        return false
    }

    /// Removes files, durably; those that are gone already don't matter.
    func remove(_ names: [String]) throws(FileFailure) {
        for name in names {
            if unlinkat(descriptor, name, 0) == 0 {
                FileJournal.note(.removed(path + "/" + name))
            } else if errno != ENOENT {
                throw .current
            }
        }
        if !names.isEmpty { try sync() }
    }

    /// When a file was last written, in seconds since 1970; `nil` if it can't be told.
    func modified(_ name: String) -> UInt64? {
        var status = stat()
        guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        return UInt64(clamping: status.st_mtim.tv_sec)
    }

    private func writeTemporary(_ name: String, _ bytes: [UInt8]) throws(FileFailure) {
        let file = openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .current }
        defer { close(file) }
        FileJournal.note(.created(path + "/" + name))
        try Self.fill(file, bytes)
        FileJournal.note(.wrote(path + "/" + name, bytes))
        FileJournal.note(.syncedFile(path + "/" + name))
    }

    /// Writes all of a file and syncs it.
    private static func fill(_ file: Int32, _ bytes: [UInt8]) throws(FileFailure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .current }
            rest = rest.dropFirst(count)
        }
        guard fsync(file) == 0 else { throw .current }
    }

    private func place(_ temporary: String, as name: String, replacing: Bool) throws(FileFailure) {
        if !replacing {
            // A hard link never overwrites, unlike rename.
            if linkat(descriptor, temporary, descriptor, name, 0) == 0 {
                FileJournal.note(.linked(from: path + "/" + temporary, to: path + "/" + name))
                unlinkat(descriptor, temporary, 0)
                FileJournal.note(.removed(path + "/" + temporary))
                return
            }
            // File systems without hard links (FAT, some network ones) leave a check and a rename; the name
            // holds our own device ID or was just made up, so nobody else writes it at the same time.
            guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK, EACCES].contains(errno) else { throw .current }
            guard !contains(name) else { throw .exists }
        }
        guard renameat(descriptor, temporary, descriptor, name) == 0 else { throw .current }
        FileJournal.note(.renamed(from: path + "/" + temporary, to: path + "/" + name))
    }

    private func sync() throws(FileFailure) {
        // Some file systems know no fsync for directories and say EINVAL; their metadata is in order anyway.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw .current }
        FileJournal.note(.syncedDirectory(AbsolutePath.make(path)))
    }

    private func isSymbolicLink(_ name: String) -> Bool {
        var status = stat()
        return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }
}
