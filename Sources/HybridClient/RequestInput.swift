// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridWebAuthn

/// The website's request, read, checked and joined with its origin before any radio or network is used.
struct RequestInput {
    let path: String
    let origin: String
    /// The window's page, where the page that asks is a frame in one of another origin.
    var topOrigin: String?

    func ceremony() throws -> Ceremony {
        let page = try Self.origin(self.origin, of: "--origin")
        let top = try topOrigin.map { try Self.origin($0, of: "--top-origin") }
        do {
            let options = try PublicKeyOptions(json: try contents())
            return try Ceremony(options, origin: page, topOrigin: top)
        } catch let error as OptionsError {
            throw CommandFailure(RequestRefusal(error))
        } catch let error as RelyingPartyIDError {
            throw CommandFailure(RequestRefusal(error))
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
                throw CommandFailure(RequestRefusal(.tooLarge))
            }
        }
    }

    private func unreadable() -> CommandFailure {
        CommandFailure("the request \(path) can't be read: \(String(cString: strerror(errno)))", status: .noInput)
    }
}

/// Why a request is not put to a phone: in a sentence, and as a browser would tell the website.
struct RequestRefusal: Error, Hashable {
    /// What a browser would call it.
    let error: WebAuthnErrorName
    /// Cause and remedy.
    let sentence: String

    /// It can't be read.
    init(_ error: OptionsError) {
        (self.error, sentence) = (error.name, "the request can't be used: \(error.sentence)")
    }

    /// Its origin may not make it.
    init(_ error: RelyingPartyIDError) {
        (self.error, sentence) = (error.name, error.sentence)
    }
}

extension CommandFailure {
    /// The sentence, with the name that a browser would use behind it.
    init(_ refusal: RequestRefusal) {
        self.init(
            "\(refusal.sentence) (\(refusal.error.rawValue))",
            code: "request-unusable",
            status: .dataError,
            details: ["webauthn_error": refusal.error.rawValue]
        )
    }
}
