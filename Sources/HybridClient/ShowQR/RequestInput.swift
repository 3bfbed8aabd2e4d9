// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridWebAuthn

extension ShowQR {
    /// Reads and checks the website's request and its origin, which the command line specifies.
    func ceremony() throws -> Ceremony {
        let page = try Self.origin(origin, of: "--origin")
        let top = try topOrigin.map { try Self.origin($0, of: "--top-origin") }
        do {
            return try Ceremony(PublicKeyOptions(json: try contents()), origin: page, topOrigin: top)
        } catch let failure as any WebAuthnFailure {
            throw CommandFailure(webAuthn: failure)
        }
    }

    private static func origin(_ text: String, of option: String) throws -> Origin {
        do throws(OriginError) {
            return try Origin(text)
        } catch {
            throw CommandFailure("\(option): \(error.sentence)", status: .usage)
        }
    }

    private func contents() throws -> [UInt8] {
        let descriptor = request == "-" ? dup(STDIN_FILENO) : Glibc.open(request, O_RDONLY | O_CLOEXEC)
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
            guard bytes.count <= PublicKeyOptions.maximumBytes else { throw OptionsError.tooLarge }
        }
    }

    private func unreadable() -> CommandFailure {
        CommandFailure("the request \(request) can't be read: \(String(cString: strerror(errno)))", status: .noInput)
    }
}
