// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR

/// What an authenticator is and can do (answer to `authenticatorGetInfo`, CTAP 2.2 §6.4).
///
/// Over hybrid it comes unasked, inside the first message after the handshake, without a status byte.
public struct AuthenticatorInfo: Equatable, Sendable {
    /// Versions of CTAP, such as `FIDO_2_1`; there is no `FIDO_2_2`.
    public var versions: [String]
    /// Names of the extensions.
    public var extensions: [String]
    /// The model; all zeros on Android.
    public var aaguid: AAGUID
    /// Switches such as `rk` and `uv`.
    public var options: [String: Bool]
    /// The longest message it takes, in bytes; `nil` if it does not say.
    public var maximumMessageSize: Int?
    /// How it can be reached, such as `internal` and `hybrid`.
    public var transports: [String]
    /// What it signs with, the best first; empty if it does not say.
    public var algorithms: [COSEAlgorithm]
    /// The attestation formats it can give (CTAP 2.3); empty if it does not say.
    public var attestationFormats: [String]

    /// A description from its parts.
    public init(
        versions: [String],
        extensions: [String] = [],
        aaguid: AAGUID,
        options: [String: Bool],
        maximumMessageSize: Int? = nil,
        transports: [String],
        algorithms: [COSEAlgorithm] = [],
        attestationFormats: [String] = []
    ) {
        self.versions = versions
        self.extensions = extensions
        self.aaguid = aaguid
        self.options = options
        self.maximumMessageSize = maximumMessageSize
        self.transports = transports
        self.algorithms = algorithms
        self.attestationFormats = attestationFormats
    }

    /// Reads the map; members that are not known here are ignored.
    public init(parsing body: [UInt8]) throws(CTAPResponseError) {
        let fields = FieldReader(try CBORMap(responseBody: body))
        do throws(FieldError) {
            _ = try fields.required(1, "versions", as: \.array)
            versions = try fields.texts(1, "versions")
            extensions = try fields.texts(2, "extensions")
            aaguid = try fields.bytes(3, "aaguid", as: AAGUID.init(bytes:))
            options = try fields.options(4)
            maximumMessageSize = try fields.optional(5, "maxMsgSize", as: \.integer)
            transports = try fields.texts(9, "transports")
            algorithms = try [COSEAlgorithm](fields.maps(10, "algorithms"))
            // Young, and nobody decides by it: in another shape it is like any member that is not known.
            attestationFormats = (try? fields.texts(22, "attestationFormats")) ?? []
        } catch {
            throw CTAPResponseError(error)
        }
    }

    /// The canonical CBOR.
    public var encoded: [UInt8] {
        var map: CBORMap = [1: Self.texts(versions), 3: .bytes(aaguid.bytes)]
        if !extensions.isEmpty { map[2] = Self.texts(extensions) }
        var switches = CBORMap()
        for (name, isOn) in options { switches[.text(name)] = .boolean(isOn) }
        if !switches.isEmpty { map[4] = .map(switches) }
        if let maximumMessageSize { map[5] = .integer(maximumMessageSize) }
        if !transports.isEmpty { map[9] = Self.texts(transports) }
        if !algorithms.isEmpty { map[10] = algorithms.cbor }
        if !attestationFormats.isEmpty { map[22] = Self.texts(attestationFormats) }
        return CBOREncoder.encode(map)
    }

    private static func texts(_ texts: [String]) -> CBORValue { .array(texts.map { .text($0) }) }
}
