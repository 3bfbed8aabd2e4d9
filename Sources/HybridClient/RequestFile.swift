// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridWebAuthn

/// The website's request, which the command line names.
struct RequestFile {
    /// The path; a dash stands for standard input.
    let path: String

    /// Reads the request.
    ///
    /// - Parameters:
    ///   - limit: The maximum length in bytes.
    ///   - tooLong: The failure if the request is longer.
    func contents(atMost limit: Int, orThrow tooLong: some ExplainedFailure) throws -> [UInt8] {
        let descriptor = path == "-" ? dup(STDIN_FILENO) : Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable() }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable() }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
            guard bytes.count <= limit else { throw tooLong }
        }
    }

    private func unreadable() -> CommandFailure {
        CommandFailure("the request \(path) can't be read: \(String(cString: strerror(errno)))", status: .noInput)
    }

    /// Returns the origin that an option names.
    static func origin(_ text: String, of option: String) throws(CommandFailure) -> Origin {
        do throws(OriginError) {
            return try Origin(text)
        } catch {
            throw CommandFailure("\(option): \(error.sentence)", status: .usage)
        }
    }
}
