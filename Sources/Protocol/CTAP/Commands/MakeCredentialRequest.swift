// SPDX-License-Identifier: Apache-2.0

public import HybridCBOR
internal import HybridPrimitives

/// A request for a new credential (`authenticatorMakeCredential`, CTAP 2.3 §6.1).
///
/// PIN/UV tokens and enterprise attestation are not available with the hybrid transport. A request that uses them is
/// rejected with the status that CTAP specifies for authenticators without support for them.
public struct MakeCredentialRequest: Equatable, Sendable {
    /// Hash of the client data.
    public var clientDataHash: ClientDataHash
    /// The relying party.
    public var relyingParty: RelyingPartyEntity
    /// The account.
    public var user: UserEntity
    /// Acceptable algorithms in order of preference, without entries of unknown types.
    public var algorithms: [COSEAlgorithm]
    /// Credentials that must not exist on the authenticator; empty if absent.
    public var excludeList: [CredentialDescriptor]
    /// Extension inputs by name; `nil` if absent.
    public var extensions: CBORMap?
    /// Preferred attestation formats in order of preference; empty if there is no preference.
    public var attestationFormats: [String]
    /// True if the credential must be discoverable (option `rk`).
    public var residentKey: Bool
    /// True if the user must be verified (option `uv`).
    public var userVerification: Bool

    /// Creates a request from its parts.
    public init(
        clientDataHash: ClientDataHash,
        relyingParty: RelyingPartyEntity,
        user: UserEntity,
        algorithms: [COSEAlgorithm],
        excludeList: [CredentialDescriptor] = [],
        extensions: CBORMap? = nil,
        attestationFormats: [String] = [],
        residentKey: Bool,
        userVerification: Bool
    ) {
        self.clientDataHash = clientDataHash
        self.relyingParty = relyingParty
        self.user = user
        self.algorithms = algorithms
        self.excludeList = excludeList
        self.extensions = extensions
        self.attestationFormats = attestationFormats
        self.residentKey = residentKey
        self.userVerification = userVerification
    }

    /// Input of the `prf` extension; `nil` if absent.
    public var prf: PRFInput? { try? PRFInput(extensions: extensions) }

    /// The only kind of data that the new passkey signs; `nil` if the client states none.
    public var signedDataKind: SignedDataKind? { try? SignedDataKind(creation: extensions) }

    init(parsing map: CBORMap, accepting kinds: Set<RelyingPartyID.Kind>) throws(CTAPRequestError) {
        try map.refusePINToken(parameter: 8, protocol: 9)
        guard map[10] == nil else { throw CTAPRequestError(status: .invalidParameter, field: "enterpriseAttestation") }
        let fields = FieldReader<CTAPRequestError>(map)
        let options = try fields.options(7, known: ["up", "uv", "rk"])
        self.init(
            clientDataHash: try fields.bytes(1, "clientDataHash", as: ClientDataHash.init(bytes:)),
            relyingParty: try RelyingPartyEntity(fields.nested(2, "rp"), accepting: kinds),
            user: try UserEntity(fields.nested(3, "user")),
            algorithms: try [COSEAlgorithm](fields.maps(4, "pubKeyCredParams", isRequired: true)),
            excludeList: try [CredentialDescriptor](requested: fields.maps(5, "excludeList")),
            extensions: try fields.optional(6, "extensions", as: \.map),
            attestationFormats: try fields.texts(11, "attestationFormatsPreference"),
            residentKey: options["rk"] ?? false,
            userVerification: options["uv"] ?? false
        )
        _ = try PRFInput(extensions: extensions)
        _ = try SignedDataKind(creation: extensions)
        // User presence is mandatory for a new credential.
        if options["up"] == false { throw CTAPRequestError(status: .invalidOption, field: "options.up") }
    }

    /// The parameters, keyed by their CTAP numbers.
    var parameters: CBORMap {
        var map: CBORMap = [
            1: .bytes(clientDataHash.bytes), 2: relyingParty.cbor, 3: user.cbor, 4: algorithms.cbor,
        ]
        if !excludeList.isEmpty { map[5] = excludeList.cbor }
        if let extensions { map[6] = .map(extensions) }
        // Like browsers, omit options that have the default value `false`.
        var options = CBORMap()
        if residentKey { options["rk"] = true }
        if userVerification { options["uv"] = true }
        if !options.isEmpty { map[7] = .map(options) }
        if !attestationFormats.isEmpty { map[11] = .array(attestationFormats.map { .text($0) }) }
        return map
    }
}

extension CBORMap {
    /// Throws the error that CTAP 2.2 §6.1.2 and §6.2.2 specify for a PIN/UV token that is not supported.
    func refusePINToken(parameter: CBORValue, protocol version: CBORValue) throws(CTAPRequestError) {
        guard self[parameter] != nil else { return }
        throw self[version] == nil
            ? CTAPRequestError(status: .missingParameter, field: "pinUvAuthProtocol")
            : CTAPRequestError(status: .invalidParameter, field: "pinUvAuthParam")
    }
}
