// SPDX-License-Identifier: Apache-2.0

public import HybridCBOR

/// Asks for a new credential (`authenticatorMakeCredential`, CTAP 2.3 §6.1).
///
/// PIN/UV tokens and enterprise attestation are never offered over hybrid, so a request that uses them
/// is refused as CTAP says an authenticator without them must.
public struct MakeCredentialRequest: Equatable, Sendable {
    /// What is signed in the end.
    public var clientDataHash: ClientDataHash
    /// For whom.
    public var relyingParty: RelyingPartyEntity
    /// For which account.
    public var user: UserEntity
    /// Acceptable algorithms, the best first.
    ///
    /// Read from the wire, it has no entries of unknown types left.
    public var algorithms: [COSEAlgorithm]
    /// Credentials that must not exist on the authenticator already; empty if absent.
    public var excludeList: [CredentialDescriptor]
    /// Extension inputs by name; `nil` if absent.
    public var extensions: CBORMap?
    /// Names of the attestation formats the relying party would like, the best first; empty if it has no wish.
    public var attestationFormats: [String]
    /// Whether the credential must be discoverable (option `rk`).
    public var residentKey: Bool
    /// Whether the user must be verified (option `uv`).
    public var userVerification: Bool

    /// A request from its parts.
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

    /// What is asked of the `prf` extension; `nil` if nothing is.
    public var prf: PRFInput? { try? PRFInput(extensions: extensions) }

    init(parsing map: CBORMap) throws(CTAPRequestError) {
        try map.refusePINToken(parameter: 8, protocol: 9)
        guard map[10] == nil else { throw CTAPRequestError(status: .invalidParameter, field: "enterpriseAttestation") }
        do throws(FieldError) {
            try self.init(FieldReader(map))
            _ = try PRFInput(extensions: extensions)
        } catch {
            throw CTAPRequestError(error)
        }
        // An authenticator may not leave the user out when it makes a credential.
        if map[7]?.map?["up"] == .boolean(false) {
            throw CTAPRequestError(status: .invalidOption, field: "options.up")
        }
    }

    private init(_ fields: FieldReader) throws(FieldError) {
        let options = try fields.options(7)
        self.init(
            clientDataHash: try fields.bytes(1, "clientDataHash", as: ClientDataHash.init(bytes:)),
            relyingParty: try RelyingPartyEntity(fields.nested(2, "rp")),
            user: try UserEntity(fields.nested(3, "user")),
            algorithms: try [COSEAlgorithm](fields.maps(4, "pubKeyCredParams", isRequired: true)),
            excludeList: try [CredentialDescriptor](fields.maps(5, "excludeList")),
            extensions: try fields.optional(6, "extensions", as: \.map),
            attestationFormats: try fields.texts(11, "attestationFormatsPreference"),
            residentKey: options["rk"] ?? false,
            userVerification: options["uv"] ?? false
        )
    }

    /// The parameters by their number.
    var parameters: CBORMap {
        var map: CBORMap = [
            1: .bytes(clientDataHash.bytes), 2: relyingParty.cbor, 3: user.cbor, 4: algorithms.cbor,
        ]
        if !excludeList.isEmpty { map[5] = excludeList.cbor }
        if let extensions { map[6] = .map(extensions) }
        // `false` is the default of both and left out, as browsers do.
        var options = CBORMap()
        if residentKey { options["rk"] = true }
        if userVerification { options["uv"] = true }
        if !options.isEmpty { map[7] = .map(options) }
        if !attestationFormats.isEmpty { map[11] = .array(attestationFormats.map { .text($0) }) }
        return map
    }
}

extension CBORMap {
    /// Answers a PIN/UV token as CTAP 2.2 §6.1.2 and §6.2.2 say an authenticator without tokens does.
    func refusePINToken(parameter: CBORValue, protocol version: CBORValue) throws(CTAPRequestError) {
        guard self[parameter] != nil else { return }
        throw self[version] == nil
            ? CTAPRequestError(status: .missingParameter, field: "pinUvAuthProtocol")
            : CTAPRequestError(status: .invalidParameter, field: "pinUvAuthParam")
    }
}
