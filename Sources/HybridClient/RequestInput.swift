// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ServiceSupport
internal import WebAuthn

/// The website's request, read, checked and joined with its origin before any radio or network is used.
struct RequestInput {
    let path: String
    let origin: String

    func ceremony() throws -> Ceremony {
        let origin: Origin
        do {
            origin = try Origin(self.origin)
        } catch {
            throw CommandFailure(error.sentence, status: .usage)
        }
        let options: PublicKeyOptions
        do {
            options = try PublicKeyOptions(json: try contents())
        } catch let error as OptionsError {
            throw CommandFailure("the request can't be used: \(error.sentence)", status: .dataError)
        }
        do {
            return try Ceremony(options, origin: origin)
        } catch {
            throw CommandFailure(error.sentence, status: .dataError)
        }
    }

    private func contents() throws -> [UInt8] {
        let descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
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
            guard bytes.count <= PublicKeyOptions.maximumBytes else {
                throw CommandFailure("the request is longer than 1 MiB", status: .dataError)
            }
        }
    }

    private func unreadable() -> CommandFailure {
        CommandFailure("the request \(path) can't be read: \(String(cString: strerror(errno)))", status: .noInput)
    }
}
