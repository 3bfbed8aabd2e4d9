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

    /// Creates a description from a CBOR map; unknown members are ignored.
    public init(parsing body: [UInt8]) throws(CTAPResponseError) {
        let fields = FieldReader<CTAPResponseError>(try CBORMap(responseBody: body))
        _ = try fields.required(1, "versions", as: \.array)
        versions = try fields.texts(1, "versions")
        extensions = try fields.texts(2, "extensions")
        aaguid = try fields.bytes(3, "aaguid", as: AAGUID.init(bytes:))
        options = try fields.options(4)
        maximumMessageSize = try fields.optional(5, "maxMsgSize", as: \.integer)
        transports = try fields.texts(9, "transports")
        algorithms = try [COSEAlgorithm](fields.maps(10, "algorithms"))
        // A client can do without these members, so a malformed value counts as absent.
        maximumCredentialCount = (try? fields.optional(7, "maxCredentialCountInList", as: \.integer)) ?? nil
        maximumCredentialIDLength = (try? fields.optional(8, "maxCredentialIdLength", as: \.integer)) ?? nil
        attestationFormats = (try? fields.texts(22, "attestationFormats")) ?? []
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
