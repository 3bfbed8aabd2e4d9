// SPDX-License-Identifier: Apache-2.0

internal import DataChannel
internal import ServiceSupport

/// The file that holds the relay's token on its first line.
enum TokenFile {
    static func read(_ path: String) throws -> BearerToken {
        do {
            return try BearerToken(file: path)
        } catch {
            switch error {
            case .unreadable(let why): throw CommandFailure("\(path) can't be read: \(why)", status: .noInput)
            case .empty: throw CommandFailure("\(path) is empty; it should hold the relay's token", status: .noInput)
            case .malformed:
                throw CommandFailure("\(path) does not begin with a token on a line of its own", status: .dataError)
            }
        }
    }
}
