// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridRelayCore

/// The files of a relay other than its configuration: the certificate with its key, and tokens.
struct RelayFiles {
    /// Paths of certificate and key; `nil` for plaintext.
    let certificate: (chain: String, key: String)?
    /// Path of the token file, if phones need tokens.
    let tokens: String?

    /// Reads the paths; throws unless the configuration has either TLS or plaintext.
    init(_ configuration: Configuration) throws(CommandFailure) {
        let chain = try configuration.value(RelaySettings.tlsCert)
        let key = try configuration.value(RelaySettings.tlsKey)
        switch (try configuration.value(RelaySettings.plaintext), chain, key) {
        case (true, nil, nil): certificate = nil
        case (false, let chain?, let key?): certificate = (chain, key)
        case (true, _, _):
            let sources = [
                chain == nil ? nil : configuration.source(of: RelaySettings.tlsCert),
                key == nil ? nil : configuration.source(of: RelaySettings.tlsKey),
            ]
            let names = sources.compactMap(\.self).map { "\($0)" }.joined(separator: " and ")
            throw configuration.contradiction("--plaintext excludes a certificate; remove \(names), or --plaintext")
        default: throw configuration.contradiction("give either --tls-cert and --tls-key, or --plaintext")
        }
        tokens = try configuration.value(RelaySettings.newTokenFile)
    }

    /// All paths.
    var paths: [String] { [certificate?.chain, certificate?.key, tokens].compactMap(\.self) }

    /// Returns TLS with the certificate and key from the files, or plaintext.
    func transport() throws(CommandFailure) -> SocketSecurity {
        guard let certificate else { return .plaintext }
        try Self.requireReadable(certificate.chain)
        try Self.requireReadable(certificate.key)
        do {
            return .tls(
                try RelayCertificate.context(certificateFile: certificate.chain, keyFile: certificate.key)
            )
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Throws if the path is not a readable file, with the system's reason.
    private static func requireReadable(_ path: String) throws(CommandFailure) {
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            throw unreadable(path, errno)
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw unreadable(path, EISDIR)
        }
    }

    private static func unreadable(_ path: String, _ reason: Int32) -> CommandFailure {
        CommandFailure(
            "\(path) can't be read: \(String(cString: strerror(reason))); install certificate and key, readable for "
                + "this program, or name others with --tls-cert and --tls-key",
            status: .noInput
        )
    }

    /// The certificate chain; `nil` for plaintext or an unreadable file.
    var certificateChain: CertificateChain? {
        certificate.flatMap { RelayCertificate.chain(certificateFile: $0.chain) }
    }

    /// Reads the tokens; `nil` if phones need none.
    func tunnelTokens() throws(CommandFailure) -> TunnelTokens? {
        guard let path = tokens else { return nil }
        let bytes: [UInt8]
        do throws(FileReadError) {
            bytes = try readWholeFile(path, atMost: TunnelTokens.maximumFileLength)
        } catch {
            throw CommandFailure("\(path): \(error.sentence)", status: error == .tooLarge ? .configuration : .noInput)
        }
        do throws(TunnelTokens.ParseError) {
            return try TunnelTokens(parsing: bytes)
        } catch {
            throw CommandFailure("\(path) \(error)", status: .configuration)
        }
    }
}
