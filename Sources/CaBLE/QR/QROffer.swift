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
    public func age(at now: UInt64) -> UInt64? { CodeMembers.age(created, at: now) }
}

// MARK: - Text

extension QROffer {
    /// A reason why a text is not an offer.
    public struct ParseError: ExplainedFailure, Hashable {
        /// The text does not begin with `FIDO:/`.
        public static let notFIDO = ParseError("this is not a sign-in code: its text does not begin with FIDO:/")
        /// The text begins with `HYBRID:/`.
        public static let transferCode = ParseError(
            "this code asks for a transfer of passkeys, not for a sign-in; to give them, use hybrid-auth give"
        )
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

        init(_ fault: CodeText.Fault) {
            switch fault {
            case .scheme(.transfer?): self = .transferCode
            case .scheme: self = .notFIDO
            case .damaged: self = .damaged
            }
        }
    }

    /// Creates an offer from the text of a QR code: a scheme in either case, and ASCII digits; it may end a line.
    ///
    /// One more slash is accepted, because programs that pass URLs on write `fido://` and the digits.
    ///
    /// - Throws: ``ParseError``.
    public init(parsing text: some StringProtocol) throws(ParseError) {
        let bytes: [UInt8]
        do throws(CodeText.Fault) {
            bytes = try CodeText.bytes(of: text, expecting: .signIn)
        } catch {
            throw ParseError(error)
        }
        try self.init(cbor: bytes)
    }

    /// Creates an offer from a line with the text of a QR code, which a byte order mark or white space may precede and white
    /// space may follow.
    ///
    /// - Throws: ``ParseError``.
    public init(line: String) throws(ParseError) {
        try self.init(parsing: CodeText.text(inLine: line))
    }

    /// The text of the QR code: at most 196 characters, or 215 for an offer that was parsed.
    public var text: String {
        let members = CodeMembers(publicKey: clientKey, secret: secret.key, created: created, channels: channels)
        var map = members.map
        map[2] = .integer(assignedDomainsKnown)
        if let supportsLinking { map[4] = .boolean(supportsLinking) }
        map[5] = .text(hint.rawValue)
        return CodeText.text(.signIn, CBOREncoder.encode(map))
    }

    init(cbor bytes: [UInt8]) throws(ParseError) {
        let map: CBORMap
        let members: CodeMembers
        do throws(CodeMembers.Fault) {
            map = try CodeMembers.map(encoded: bytes)
            members = try CodeMembers(map)
        } catch {
            throw .malformed(error.reason)
        }
        clientKey = members.publicKey
        secret = QRSecret(key: members.secret)
        created = members.created
        channels = members.channels
        // Phones can do without the other keys, so a malformed value counts as absent.
        assignedDomainsKnown = map[2]?.integer.map { max($0, 0) } ?? 0
        supportsLinking = map[4]?.boolean
        hint = map[5]?.text.flatMap(RequestHint.init) ?? .getAssertion
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
