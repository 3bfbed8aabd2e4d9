// SPDX-License-Identifier: Apache-2.0

public import Crypto
internal import HybridCBOR
public import HybridPrimitives

/// What a QR code says: the client's public key, the secret of this ceremony, and a few hints.
///
/// The text is `FIDO:/` and decimal digits, which code a CBOR map with integer keys (CTAP 2.2 §11.5.1).
public struct QROffer: Sendable {
    /// Key 0: the client's public key, fresh for each QR; 33 bytes compressed.
    public let clientKey: P256.KeyAgreement.PublicKey
    /// Key 1: the 16-byte secret.
    public let secret: QRSecret
    /// Key 2: how many assigned tunnel domains the client can resolve; 0 when absent.
    public let assignedDomainsKnown: Int
    /// Key 3: when the QR was made, in seconds since 1970; informative, clocks differ.
    public let created: UInt64?
    /// Key 4: whether the client can keep a link; `nil` when absent, which only old clients do.
    public let supportsLinking: Bool?
    /// Key 5: what will be asked for; *sign in* when absent or unknown.
    public let hint: RequestHint
    /// Key 6: the channels the client offers, each once; the WebSocket alone when absent or of another form.
    public let channels: [DataChannelKind]

    /// The offer of a client that makes a QR now.
    ///
    /// Key 6 is left out unless another channel than the WebSocket is offered: old Play services take it for something
    /// else. Key 4 is always sent: without it phones fall back to an obsolete revision.
    public init(
        clientKey: P256.KeyAgreement.PublicKey,
        secret: QRSecret,
        created: UInt64,
        hint: RequestHint,
        channels: [DataChannelKind] = [.webSocket]
    ) {
        self.clientKey = clientKey
        self.secret = secret
        self.assignedDomainsKnown = TunnelDomain.assignedHosts.count
        self.created = created
        self.supportsLinking = false
        self.hint = hint
        self.channels = channels
    }

    /// Seconds since the QR was made, if it says so and the clocks agree well enough.
    public func age(at now: UInt64) -> UInt64? {
        guard let created, created <= now else { return nil }
        return now - created
    }
}

extension QROffer: SecretMaterial {}

// MARK: - Text

extension QROffer {
    static let scheme = "FIDO:/"

    /// Why a text is not an offer.
    public enum ParseError: Error, Equatable, Sendable {
        /// It does not start with `FIDO:/`.
        case notFIDO
        /// What follows is not a possible sequence of digits: damaged, cut off, or longer than any offer.
        case damaged
        /// The digits are not the CBOR map of an offer; the reason names the key.
        case malformed(String)
    }

    /// Reads the text of a QR; the scheme in either case, digits in ASCII only.
    ///
    /// - Throws: ``ParseError``.
    public init(parsing text: some StringProtocol) throws(ParseError) {
        let characters = Array(text.utf8.prefix(Limits.qrTextCharacters + 1))
        let scheme = Array(Self.scheme.utf8)
        guard characters.prefix(scheme.count).elementsEqual(scheme, by: { Self.upperCase($0) == $1 }) else {
            throw .notFIDO
        }
        guard characters.count <= Limits.qrTextCharacters,
            let bytes = DigitCoding.decode(characters.dropFirst(scheme.count)), !bytes.isEmpty
        else { throw .damaged }
        try self.init(cbor: bytes)
    }

    /// The text to draw; at most 200 characters, upper-case scheme, so that QR's dense modes apply.
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
        let map: CBORMap
        do {
            guard let decoded = try CBORDecoder.decode(bytes, mode: .strict).map else {
                throw ParseError.malformed("not a map")
            }
            map = decoded
        } catch let error as ParseError {
            throw error
        } catch {
            throw .malformed("not canonical CBOR")
        }
        guard let point = map[0]?.bytes, point.count == 33 else { throw .malformed("key 0 is not a compressed point") }
        do {
            self.clientKey = try P256.KeyAgreement.PublicKey(compressedRepresentation: point)
        } catch {
            throw .malformed("key 0 is not on the curve")
        }
        guard let secretBytes = map[1]?.bytes, let secret = QRSecret(bytes: secretBytes) else {
            throw .malformed("key 1 is not 16 bytes")
        }
        self.secret = secret
        self.assignedDomainsKnown =
            try Self.optional(map[2], "key 2 is not a count") { value in
                value.integer.flatMap { $0 >= 0 ? $0 : nil }
            } ?? 0
        if case .unsigned(let seconds)? = map[3] { self.created = seconds } else { self.created = nil }
        self.supportsLinking = try Self.optional(map[4], "key 4 is not a truth value") { $0.boolean }
        let hint = try Self.optional(map[5], "key 5 is not text") { $0.text }
        self.hint = hint.flatMap(RequestHint.init) ?? .getAssertion
        // Drafts before CTAP 2.2 had a truth value here; whatever is not a usable list means the WebSocket.
        let named = map[6]?.array?.compactMap { $0.integer.flatMap(DataChannelKind.init) } ?? []
        let channels = named.reduce(into: [DataChannelKind]()) { if !$0.contains($1) { $0.append($1) } }
        self.channels = channels.isEmpty ? [.webSocket] : channels
    }

    private static func optional<T>(
        _ value: CBORValue?,
        _ complaint: String,
        _ read: (CBORValue) -> T?
    ) throws(ParseError) -> T? {
        guard let value else { return nil }
        guard let result = read(value) else { throw .malformed(complaint) }
        return result
    }

    private static func upperCase(_ character: UInt8) -> UInt8 {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(character) ? character & 0xDF : character
    }
}
