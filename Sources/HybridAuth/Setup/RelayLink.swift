// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram

/// A link or QR code with which an operator hands out a relay: `hybrid-relay:DOMAIN`, with `?token=TOKEN` if the relay
/// requires one.
struct RelayLink {
    /// The scheme with its colon, in lower case.
    static let scheme = "hybrid-relay:"
    /// Maximum length in bytes: scheme, host name, and a token.
    static let maximumLength = 1024

    /// The relay.
    let domain: TunnelDomain
    /// The relay's token, if the link has one.
    let token: BearerToken?

    /// Parses a link; letters of the scheme are in either case, as in QR codes.
    ///
    /// - Throws: ``CommandFailure`` if it is no link of this form.
    init(_ text: some StringProtocol) throws(CommandFailure) {
        let start = text.prefix(Self.scheme.count)
        guard text.utf8.count <= Self.maximumLength, start.lowercased() == Self.scheme else {
            throw CommandFailure(
                "this is not the link of a relay, which begins with \(Self.scheme); ask the relay's operator for it",
                status: .dataError
            )
        }
        let parts = text.dropFirst(Self.scheme.count).split(
            separator: "?",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        let named = String(parts.first ?? "")
        guard let domain = TunnelDomain(argument: named.lowercased()) else {
            throw CommandFailure(
                "the link names \(SafeText(quoting: named)), which is not a relay; ask the operator for a new link",
                status: .dataError
            )
        }
        self.domain = domain
        guard parts.count == 2 else {
            token = nil
            return
        }
        let query = parts[1]
        guard query.hasPrefix("token="), let token = BearerToken(query.dropFirst("token=".count).utf8) else {
            throw CommandFailure(
                "the link of the relay is damaged after its ?; ask the relay's operator for a new one",
                status: .dataError
            )
        }
        self.token = token
    }

    /// Reads a link from the command line, or from a line of standard input if the text is a dash.
    ///
    /// - Throws: ``CommandFailure``.
    static func read(_ text: String) throws(CommandFailure) -> RelayLink {
        guard text == "-" else { return try RelayLink(text) }
        guard var line = StandardInput.textLine(atMost: maximumLength + 1) else {
            throw CommandFailure("no link on standard input; give one that begins with \(scheme)", status: .dataError)
        }
        defer { SecretBytes.wipe(&line) }
        return try RelayLink(String(decoding: line.filter { $0 > 0x20 }, as: UTF8.self))
    }
}
