// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// A failure to access a file or directory.
enum FileError: Error, Equatable {
    /// The name does not exist.
    case absent
    /// The name exists already.
    case exists
    /// The name is a symbolic link, which is never followed inside a vault.
    case symbolicLink
    /// The type is wrong: a directory, pipe, socket or device instead of a file, or a file instead of a directory.
    case wrongKind
    /// The file belongs to another user.
    case notOurs
    /// The file is longer than its limit, or the directory has more names than its limit.
    case tooLarge
    /// Another system error, with its `errno`.
    case system(Int32)

    /// The error for the current value of `errno`.
    static var current: FileError {
        switch errno {
        case ENOENT: .absent
        case EEXIST: .exists
        case ELOOP: .symbolicLink
        case ENOTDIR, ENXIO: .wrongKind
        case let code: .system(code)
        }
    }

    /// A short cause for messages.
    var reason: String {
        switch self {
        case .absent: "it is missing"
        case .exists: "it already exists"
        case .symbolicLink: "it is a symbolic link"
        case .wrongKind: "it is of the wrong kind"
        case .notOurs: "it belongs to another user"
        case .tooLarge: "it is too large"
        case .system(let code): String(cString: strerror(code))
        }
    }
}

/// Runs an access to files, and converts a failure to `error` with the path and the cause.
func accessing<Value: ~Copyable>(
    _ path: String,
    orThrow error: (String) -> VaultError = VaultError.cannotWrite,
    _ access: () throws(FileError) -> Value
) throws(VaultError) -> Value {
    do throws(FileError) {
        return try access()
    } catch let failure {
        throw error("\(path): \(failure.reason)")
    }
}

/// Runs an access to a file that a sync tool or a server may have changed.
///
/// A system error, such as a read error of the disk, is reported as damage. Any other failure is passed to `ignore`,
/// and the result is `nil`.
func readIfPossible<Value>(
    _ path: String,
    _ access: @autoclosure () throws(FileError) -> Value,
    orIgnore ignore: (FileError) -> Void = { _ in }
) throws(VaultError) -> Value? {
    do throws(FileError) {
        return try access()
    } catch {
        if case .system = error { throw .damaged("\(path) can't be read: \(error.reason)") }
        ignore(error)
        return nil
    }
}
