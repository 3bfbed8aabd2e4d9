// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Why a file or directory could not be used.
enum FileFailure: Error, Equatable {
    /// There is nothing of that name.
    case absent
    /// Something of that name is there already.
    case exists
    /// A symbolic link, which is never followed inside a vault.
    case symbolicLink
    /// A directory where a file should be, a pipe, a socket or a device; or a file where a directory should be.
    case wrongKind
    /// It belongs to another user.
    case notOurs
    /// It is longer than its limit.
    case tooLarge
    /// The system said no; `errno`.
    case system(Int32)

    /// The failure that `errno` names now.
    static var current: FileFailure {
        switch errno {
        case ENOENT: .absent
        case EEXIST: .exists
        case ELOOP: .symbolicLink
        case ENOTDIR, ENXIO: .wrongKind
        case let code: .system(code)
        }
    }

    /// A few words for people.
    var words: String {
        switch self {
        case .absent: "it is missing"
        case .exists: "it exists already"
        case .symbolicLink: "it is a symbolic link"
        case .wrongKind: "it is of the wrong kind"
        case .notOurs: "it belongs to another user"
        case .tooLarge: "it is too large"
        case .system(let code): String(cString: strerror(code))
        }
    }
}
