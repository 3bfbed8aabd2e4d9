// SPDX-License-Identifier: Apache-2.0

private import CHybridLinux
private import Glibc
internal import HybridPrimitives

/// The process that decodes a picture and searches it for codes.
///
/// Pictures come from others, and their decoders are written in C. After its start, the process can use its memory and its
/// two streams, nothing else: no files, no network, no other processes (seccomp).
///
/// Its input is the length of a text (1 byte) ‖ the text with which wanted codes begin ‖ the picture. Its output is a
/// `PictureReply`.
package enum PictureProcess {
    /// The only argument of a program that is started for this purpose.
    static let argument = "--search-picture"
    /// Limit of the processor time, in seconds.
    private static let seconds: rlim_t = 60

    /// Searches a picture and ends the process if it was started for that; otherwise returns at once.
    ///
    /// A program calls this before it does anything else.
    package static func runIfRequested() {
        guard CommandLine.arguments.dropFirst().elementsEqual([argument]) else { return }
        var limit = rlimit(rlim_cur: seconds, rlim_max: seconds)
        setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit)
        guard hybrid_confine() == 0 else {
            write(PictureReply.bytes(.failure(.notConfined)))
            _exit(ExitStatus.unavailable.rawValue)
        }
        var input = read(atMost: GrayPicture.maximumFileBytes + 256)
        defer { SecretBytes.wipe(&input) }
        let length = Int(input.first ?? 0)
        let start = Array(input.dropFirst().prefix(length))
        let picture = Array(input.dropFirst(1 + length))
        let result = Result { () throws(PictureError) in
            try CodeSearch.codes(inFile: picture) { $0.begins(with: start) }
        }
        write(PictureReply.bytes(result))
        _exit(0)
    }

    private static func read(atMost limit: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        while bytes.count < limit {
            let count = Glibc.read(STDIN_FILENO, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return bytes
    }

    private static func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
