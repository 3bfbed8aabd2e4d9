// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
internal import HybridPrimitives

/// The description of an authenticator (response to `authenticatorGetInfo`, CTAP 2.2 §6.4).
///
/// With the hybrid transport, the authenticator sends this description without a request: in the first message after
/// the handshake, and without a status byte.
public struct AuthenticatorInfo: Equatable, Sendable {
    /// CTAP versions, such as `FIDO_2_1`; there is no `FIDO_2_2`.
    public var versions: [String]
    /// Names of supported extensions.
    public var extensions: [String]
    /// Model of the authenticator; all zeros on Android.
    public var aaguid: AAGUID
    /// Options such as `rk` and `uv`.
    public var options: [String: Bool]
    /// Maximum message size in bytes; `nil` if not stated.
    public var maximumMessageSize: Int?
    /// Maximum length of allow and exclude lists; `nil` if not stated.
    public var maximumCredentialCount: Int?
    /// Maximum length of a credential ID in bytes; `nil` if not stated.
    public var maximumCredentialIDLength: Int?
    /// Transports, such as `internal` and `hybrid`.
    public var transports: [String]
    /// Supported algorithms in order of preference; empty if not stated.
    public var algorithms: [COSEAlgorithm]
    /// Supported attestation formats (CTAP 2.3); empty if not stated.
    public var attestationFormats: [String]

    /// Creates a description from its parts.
    public init(
        versions: [String],
        extensions: [String] = [],
        aaguid: AAGUID,
        options: [String: Bool],
        maximumMessageSize: Int? = nil,
        maximumCredentialCount: Int? = nil,
        maximumCredentialIDLength: Int? = nil,
        transports: [String],
        algorithms: [COSEAlgorithm] = [],
        attestationFormats: [String] = []
    ) {
        self.versions = versions
        self.extensions = extensions
        self.aaguid = aaguid
        self.options = options
        self.maximumMessageSize = maximumMessageSize
        self.maximumCredentialCount = maximumCredentialCount
        self.maximumCredentialIDLength = maximumCredentialIDLength
        self.transports = transports
        self.algorithms = algorithms
        self.attestationFormats = attestationFormats
    }

    /// Creates a description from a CBOR map.
    ///
    /// `versions` and `aaguid` are required. Of the other members, what has an unknown name or the wrong type is
    /// ignored: a client can do without each of them, and a phone is not useless because of one.
    public init(parsing body: [UInt8]) throws(CTAPResponseError) {
        let fields = FieldReader<CTAPResponseError>(try CBORMap(responseBody: body))
        _ = try fields.required(1, "versions", as: \.array)
        versions = try fields.texts(1, "versions")
        extensions = fields.ignorableTexts(2)
        aaguid = try fields.bytes(3, "aaguid", as: AAGUID.init(bytes:))
        options = fields.ignorableOptions(4)
        maximumMessageSize = fields.ignorable(5, as: \.integer)
        maximumCredentialCount = fields.ignorable(7, as: \.integer)
        maximumCredentialIDLength = fields.ignorable(8, as: \.integer)
        transports = fields.ignorableTexts(9)
        algorithms = fields.ignorableMaps(10).flatMap { (try? [COSEAlgorithm]([$0])) ?? [] }
        attestationFormats = fields.ignorableTexts(22)
    }

    /// The canonical CBOR.
    public var encoded: [UInt8] {
        var map: CBORMap = [1: Self.texts(versions), 3: .bytes(aaguid.bytes)]
        if !extensions.isEmpty { map[2] = Self.texts(extensions) }
        if !options.isEmpty { map[4] = .map(CBORMap(options.map { (.text($0), .boolean($1)) })) }
        if let maximumMessageSize { map[5] = .integer(maximumMessageSize) }
        if let maximumCredentialCount { map[7] = .integer(maximumCredentialCount) }
        if let maximumCredentialIDLength { map[8] = .integer(maximumCredentialIDLength) }
        if !transports.isEmpty { map[9] = Self.texts(transports) }
        if !algorithms.isEmpty { map[10] = algorithms.cbor }
        if !attestationFormats.isEmpty { map[22] = Self.texts(attestationFormats) }
        return CBOREncoder.encode(map)
    }

    private static func texts(_ texts: [String]) -> CBORValue { .array(texts.map { .text($0) }) }
}
