// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSSHAgent

/// Messages of a browser and its native messaging host: 4 bytes length in the machine's byte order ‖ JSON in UTF-8.
enum NativeMessages {
    /// Maximum length of a message in bytes.
    ///
    /// Browsers end a port at more than 1 MiB from the host.
    static let maximumLength = RemoteMessage.maximumLength

    /// A message of the extension.
    enum Incoming {
        /// The JSON.
        case message(JSONText)
        /// The browser has closed the port.
        case closed
        /// The message is too long or not JSON.
        case malformed
    }

    /// Reads a message from standard input.
    static func read() -> Incoming {
        var header: [UInt8] = []
        guard append(4, to: &header) else { return .closed }
        let length = header.withUnsafeBytes { Int($0.loadUnaligned(as: UInt32.self)) }
        guard (1...maximumLength).contains(length) else { return .malformed }
        var contents: [UInt8] = []
        guard append(length, to: &contents) else { return .closed }
        return (try? JSONText(parsing: contents)).map(Incoming.message) ?? .malformed
    }

    /// Writes a message to standard output.
    static func write(_ message: JSONText) throws(CommandFailure) {
        let contents = Array(message.description.utf8)
        var length = UInt32(contents.count)
        let header = withUnsafeBytes(of: &length) { Array($0) }
        guard writeAll(header + contents, to: STDOUT_FILENO) else { throw .outputNotWritten }
    }

    /// Reads exactly `count` bytes; returns false if the input ends before.
    private static func append(_ count: Int, to bytes: inout [UInt8]) -> Bool {
        var chunk = [UInt8](repeating: 0, count: min(count, 65536))
        while bytes.count < count {
            let length = Glibc.read(STDIN_FILENO, &chunk, min(chunk.count, count - bytes.count))
            if length < 0, errno == EINTR { continue }
            guard length > 0 else { return false }
            bytes += chunk[..<length]
        }
        return true
    }
}
