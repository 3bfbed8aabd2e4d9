// SPDX-License-Identifier: Apache-2.0

public import Crypto
internal import HybridCBOR
public import HybridPrimitives

/// The contents of a QR code: the client's public key, the secret of this session, and a few hints.
///
/// The text is `FIDO:/` followed by decimal digits, which encode a CBOR map with integer keys (CTAP 2.2 §11.5.1).
public struct QROffer: Sendable, SecretMaterial {
    /// Key 0: public key of the client, new for each QR code; a compressed point of 33 bytes.
    public let clientKey: P256.KeyAgreement.PublicKey
    /// Key 1: secret of 16 bytes.
    public let secret: QRSecret
    /// Key 2: number of assigned tunnel domains that the client can resolve; 0 if absent.
    public let assignedDomainsKnown: Int
    /// Key 3: creation time in seconds since 1970; `nil` if absent.
    ///
    /// The time is only a hint, because the clocks of the two devices may differ.
    public let created: UInt64?
    /// Key 4: true if the client can store linking information; `nil` if absent, as in codes of old clients.
    public let supportsLinking: Bool?
    /// Key 5: type of the request; *sign in* if absent or unknown.
    public let hint: RequestHint
    /// Key 6: channels that the client offers, without duplicates; only the WebSocket if absent or malformed.
    public let channels: [DataChannelKind]

    /// Creates the offer of a client for a new QR code.
    ///
    /// Key 6 is omitted unless a channel other than the WebSocket is offered, because old versions of Google Play
    /// services misinterpret it. Key 4 is always included, because phones fall back to an obsolete revision of the
    /// protocol if it is absent.
    public init(
        clientKey: P256.KeyAgreement.PublicKey,
        secret: QRSecret,
        created: UInt64,
        hint: RequestHint,
        channels: [DataChannelKind] = [.webSocket],
        supportsLinking: Bool = false
    ) {
        self.clientKey = clientKey
        self.secret = secret
        self.assignedDomainsKnown = TunnelDomain.assignedHosts.count
        self.created = created
        self.supportsLinking = supportsLinking
        self.hint = hint
        self.channels = channels
    }

    /// Returns the age of the QR code in seconds; `nil` if it is unknown or in the future.
    public func age(at now: UInt64) -> UInt64? {
        guard let created, created <= now else { return nil }
        return now - created
    }
}

// MARK: - Text

extension QROffer {
    static let scheme = "FIDO:/"

    /// A reason why a text is not an offer.
    public struct ParseError: ExplainedFailure, Hashable {
        /// The text does not begin with `FIDO:/`.
        public static let notFIDO = ParseError("this is not a sign-in code: its text does not begin with FIDO:/")
        /// The digits are damaged, truncated, or longer than any offer.
        public static let damaged = ParseError("the code is damaged or incomplete; scan it again")

        /// Cause and remedy.
        public let sentence: String
        /// The exit status for malformed data.
        public var status: ExitStatus { .dataError }
        /// The name of the status.
        public var code: String { status.name }

        private init(_ sentence: String) { self.sentence = sentence }

        /// The digits do not encode the CBOR map of an offer; the reason names the key.
        public static func malformed(_ reason: String) -> ParseError {
            ParseError("this program can't use the code (\(reason)); scan it again, or reload the page")
        }
    }

    /// Creates an offer from the text of a QR code: a scheme in either case, and ASCII digits; it may end a line.
    ///
    /// One more slash is accepted, because programs that pass URLs on write `fido://` and the digits.
    ///
    /// - Throws: ``ParseError``.
    public init(parsing text: some StringProtocol) throws(ParseError) {
        // Programs that draw codes leave the end of a line there.
        var characters = Array(text.utf8.prefix(Limits.qrTextCharacters + 4))
        while let last = characters.last, last == 0x0A || last == 0x0D { characters.removeLast() }
        let scheme = characters.prefix(Self.scheme.utf8.count)
        guard String(decoding: scheme, as: UTF8.self).uppercased() == Self.scheme else { throw .notFIDO }
        if characters.count > scheme.count, characters[scheme.count] == UInt8(ascii: "/") {
            characters.remove(at: scheme.count)
        }
        guard characters.count <= Limits.qrTextCharacters,
            let bytes = DigitCoding.decode(characters.dropFirst(scheme.count)), !bytes.isEmpty
        else { throw .damaged }
        try self.init(cbor: bytes)
    }

    /// Creates an offer from a line with the text of a QR code, which a byte order mark or white space may precede and white
    /// space may follow.
    ///
    /// - Throws: ``ParseError``.
    public init(line: String) throws(ParseError) {
        let start = line.unicodeScalars.drop { $0 == "\u{FEFF}" || $0.value <= 0x20 }
        try self.init(parsing: String(String.UnicodeScalarView(start.prefix { $0.value > 0x20 })))
    }

    /// The text of the QR code: at most 196 characters, or 215 for an offer that was parsed.
    ///
    /// The scheme is in upper case, so that the code can use the compact alphanumeric and numeric modes.
    public var text: String {
        var map: CBORMap = [
            0: .bytes(Array(clientKey.compressedRepresentation)),
            1: .bytes(secret.key.withUnsafeBytes { Array($0) }),
            2: .integer(assignedDomainsKnown),
            5: .text(hint.rawValue),
        ]
        if let created { map[3] = .unsigned(created) }
        if let supportsLinking { map[4] = .boolean(supportsLinking) }
        if channels != [.webSocket] { map[6] = .array(channels.map { .integer($0.rawValue) }) }
        return Self.scheme + DigitCoding.encode(CBOREncoder.encode(map))
    }

    init(cbor bytes: [UInt8]) throws(ParseError) {
        guard let value = try? CBORDecoder.decode(bytes, mode: .strict) else { throw .malformed("not canonical CBOR") }
        guard let map = value.map else { throw .malformed("not a map") }
        guard let point = map[0]?.bytes, point.count == 33 else { throw .malformed("key 0 is not a compressed point") }
        guard let clientKey = try? P256.KeyAgreement.PublicKey(compressedRepresentation: point) else {
            throw .malformed("key 0 is not on the curve")
        }
        self.clientKey = clientKey
        guard let secretBytes = map[1]?.bytes, let secret = QRSecret(bytes: secretBytes) else {
            throw .malformed("key 1 is not 16 bytes")
        }
        self.secret = secret
        // Phones can do without the other keys, so a malformed value counts as absent.
        self.assignedDomainsKnown = map[2]?.integer.map { max($0, 0) } ?? 0
        if case .unsigned(let seconds)? = map[3] { self.created = seconds } else { self.created = nil }
        self.supportsLinking = map[4]?.boolean
        self.hint = map[5]?.text.flatMap(RequestHint.init) ?? .getAssertion
        // Drafts before CTAP 2.2 had a Boolean here. Any value other than a usable list means the WebSocket.
        let named = map[6]?.array?.compactMap { $0.integer.flatMap(DataChannelKind.init) } ?? []
        let channels = named.reduce(into: [DataChannelKind]()) { if !$0.contains($1) { $0.append($1) } }
        self.channels = channels.isEmpty ? [.webSocket] : channels
    }
}

/// The type of the client's request; a hint for the phone's user interface, not binding.
public enum RequestHint: String, Hashable, Sendable {
    /// Sign in.
    case getAssertion = "ga"
    /// Create a passkey.
    case makeCredential = "mc"
    /// Present a digital credential.
    case presentCredential = "dcp"
    /// Issue a digital credential.
    case issueCredential = "dci"
}

/// A data channel for messages after the advert has been received (CTAP 2.3, QR key 6).
public enum DataChannelKind: Int, Hashable, Sendable {
    /// Through the relay.
    case webSocket = 0
    /// Over a Bluetooth LE L2CAP channel.
    case l2cap = 1
}
