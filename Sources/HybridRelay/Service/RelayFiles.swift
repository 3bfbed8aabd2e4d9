// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridRelayCore
internal import NIOCore
internal import NIOSSL

/// What a relay reads from files besides its configuration: the certificate with its key, and tokens.
struct RelayFiles {
    /// Certificate and key; `nil` for plaintext.
    let certificate: (chain: String, key: String)?
    /// The file of tokens, if phones need any.
    let tokens: String?

    /// - Throws: where TLS and plaintext are both or neither asked for.
    init(_ configuration: Configuration) throws(CommandFailure) {
        let chain = try configuration.value(RelaySettings.tlsCert)
        let key = try configuration.value(RelaySettings.tlsKey)
        switch (try configuration.value(RelaySettings.plaintext), chain, key) {
        case (true, nil, nil): certificate = nil
        case (false, let chain?, let key?): certificate = (chain, key)
        default: throw configuration.contradiction("give either --tls-cert and --tls-key, or --plaintext")
        }
        tokens = try configuration.value(RelaySettings.newTokenFile)
    }

    /// All of them.
    var paths: [String] { [certificate?.chain, certificate?.key, tokens].compactMap(\.self) }

    /// TLS with the certificate as it is now, or plaintext.
    func transport() throws(CommandFailure) -> RelayTransport {
        guard let certificate else { return .plaintext }
        try Self.look(at: certificate.chain)
        try Self.look(at: certificate.key)
        do {
            return .tls(
                try RelayCertificate.context(certificateFile: certificate.chain, keyFile: certificate.key)
            )
        } catch {
            switch error {
            case .unreadable(let path):
                throw CommandFailure("cannot read \(path)", status: .noInput)
            case .noCertificate(let path):
                throw CommandFailure("\(path) holds no PEM certificate", status: .configuration)
            case .noKey(let path):
                throw CommandFailure("\(path) holds no unencrypted PEM private key", status: .configuration)
            case .mismatch(let certificate, let key):
                throw CommandFailure("the key in \(key) does not belong to \(certificate)", status: .configuration)
            case .refused(let why):
                throw CommandFailure("the certificate cannot be used: \(why)", status: .configuration)
            }
        }
    }

    /// - Throws: why nothing can be read there.
    private static func look(at path: String) throws(CommandFailure) {
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            throw CommandFailure("cannot read \(path): \(String(cString: strerror(errno)))", status: .noInput)
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw CommandFailure("cannot read \(path): \(String(cString: strerror(EISDIR)))", status: .noInput)
        }
    }

    /// When the certificate ends, in seconds since 1970.
    var certificateEnd: Int? {
        guard let certificate, let chain = try? NIOSSLCertificate.fromPEMFile(certificate.chain) else { return nil }
        // No link of the chain must have ended.
        return chain.map { Int($0.notValidAfter) }.min()
    }

    /// The tokens as they are now; `nil` if phones need none.
    func newTokens() throws(CommandFailure) -> NewTokens? {
        guard let path = tokens else { return nil }
        let bytes: [UInt8]
        do throws(FileReadError) {
            bytes = try readWholeFile(path, atMost: NewTokens.maximumFileLength)
        } catch {
            throw CommandFailure("\(path): \(error.sentence)", status: error == .tooLarge ? .configuration : .noInput)
        }
        do throws(NewTokensError) {
            return try NewTokens(parsing: bytes)
        } catch {
            throw CommandFailure("\(path) \(error)", status: .configuration)
        }
    }
}
