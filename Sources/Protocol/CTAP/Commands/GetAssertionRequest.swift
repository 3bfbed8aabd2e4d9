// SPDX-License-Identifier: Apache-2.0

public import HybridCBOR
internal import HybridPrimitives

/// A request for a signature with an existing credential (`authenticatorGetAssertion`, CTAP 2.2 §6.2).
public struct GetAssertionRequest: Equatable, Sendable {
    /// The relying party.
    public var relyingPartyID: RelyingPartyID
    /// Hash of the client data, which is signed together with the authenticator data.
    public var clientDataHash: ClientDataHash
    /// Acceptable credentials; empty if any credential of the relying party is acceptable.
    public var allowList: [CredentialDescriptor]
    /// Extension inputs by name; `nil` if absent.
    public var extensions: CBORMap?
    /// True if the user must be present (option `up`); `false` requests a silent response.
    public var userPresence: Bool
    /// True if the user must be verified (option `uv`).
    public var userVerification: Bool

    /// Creates a request from its parts.
    public init(
        relyingPartyID: RelyingPartyID,
        clientDataHash: ClientDataHash,
        allowList: [CredentialDescriptor] = [],
        extensions: CBORMap? = nil,
        userPresence: Bool = true,
        userVerification: Bool
    ) {
        self.relyingPartyID = relyingPartyID
        self.clientDataHash = clientDataHash
        self.allowList = allowList
        self.extensions = extensions
        self.userPresence = userPresence
        self.userVerification = userVerification
    }

    /// Input of the `prf` extension; `nil` if absent.
    public var prf: PRFInput? { try? PRFInput(extensions: extensions) }

    /// The data that the client wants to be signed; `nil` if it states none.
    public var signedData: SignedDataInput? { try? SignedDataInput(signIn: extensions) }

    init(parsing map: CBORMap, accepting kinds: Set<RelyingPartyID.Kind>) throws(CTAPRequestError) {
        try map.refusePINToken(parameter: 6, protocol: 7)
        let fields = FieldReader<CTAPRequestError>(map)
        let options = try fields.options(5, known: ["up", "uv", "rk"])
        let text = try fields.required(1, "rpId", as: \.text)
        guard let relyingPartyID = RelyingPartyID(text, accepting: kinds) else { throw .invalid("rpId") }
        self.init(
            relyingPartyID: relyingPartyID,
            clientDataHash: try fields.bytes(2, "clientDataHash", as: ClientDataHash.init(bytes:)),
            allowList: try [CredentialDescriptor](requested: fields.maps(3, "allowList")),
            extensions: try fields.optional(4, "extensions", as: \.map),
            userPresence: options["up"] ?? true,
            userVerification: options["uv"] ?? false
        )
        _ = try PRFInput(extensions: extensions)
        _ = try SignedDataInput(signIn: extensions)
        if options["rk"] != nil { throw CTAPRequestError(status: .unsupportedOption, field: "options.rk") }
    }

    /// The parameters, keyed by their CTAP numbers.
    var parameters: CBORMap {
        var map: CBORMap = [1: .text(relyingPartyID.text), 2: .bytes(clientDataHash.bytes)]
        if !allowList.isEmpty { map[3] = allowList.cbor }
        if let extensions { map[4] = .map(extensions) }
        // Like browsers, omit options that have CTAP's default value.
        var options = CBORMap()
        if !userPresence { options["up"] = false }
        if userVerification { options["uv"] = true }
        if !options.isEmpty { map[5] = .map(options) }
        return map
    }
}
