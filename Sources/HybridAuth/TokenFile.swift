// SPDX-License-Identifier: Apache-2.0

internal import DataChannel
internal import Glibc
internal import ServiceSupport

/// The file that holds the relay's token on its first line.
enum TokenFile {
    static func read(_ path: String) throws -> BearerToken {
        guard let file = fopen(path, "re") else {
            throw CommandFailure("\(path) can't be read: \(String(cString: strerror(errno)))", status: .noInput)
        }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 600)
        defer {
            buffer.withUnsafeMutableBytes { bytes in
                if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
            }
        }
        guard fgets(&buffer, Int32(buffer.count), file) != nil else {
            throw CommandFailure("\(path) is empty; it should hold the relay's token", status: .noInput)
        }
        let line = buffer.prefix { $0 != 0 && $0 != 10 && $0 != 13 }.map { UInt8(bitPattern: $0) }
        guard let token = BearerToken(String(decoding: line, as: UTF8.self)) else {
            throw CommandFailure("\(path) does not begin with a token on a line of its own", status: .dataError)
        }
        return token
    }
}
