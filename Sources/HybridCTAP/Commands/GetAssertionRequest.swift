// SPDX-License-Identifier: Apache-2.0

public import HybridCBOR

/// Asks for a signature with an existing credential (`authenticatorGetAssertion`, CTAP 2.2 §6.2).
public struct GetAssertionRequest: Equatable, Sendable {
    /// For whom.
    public var relyingPartyID: RelyingPartyID
    /// What is signed in the end.
    public var clientDataHash: ClientDataHash
    /// The only credentials that may answer; empty if any of the relying party's may.
    public var allowList: [CredentialDescriptor]
    /// Extension inputs by name; `nil` if absent.
    public var extensions: CBORMap?
    /// Whether the user must be present (option `up`); `false` asks for a silent answer.
    public var userPresence: Bool
    /// Whether the user must be verified (option `uv`).
    public var userVerification: Bool

    /// A request from its parts.
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

    /// What is asked of the `prf` extension; `nil` if nothing is.
    public var prf: PRFInput? { try? PRFInput(extensions: extensions) }

    init(parsing map: CBORMap) throws(CTAPRequestError) {
        try map.refusePINToken(parameter: 6, protocol: 7)
        do throws(FieldError) {
            try self.init(FieldReader(map))
            _ = try PRFInput(extensions: extensions)
        } catch {
            throw CTAPRequestError(error)
        }
        if map[5]?.map?["rk"] != nil { throw CTAPRequestError(status: .unsupportedOption, field: "options.rk") }
    }

    private init(_ fields: FieldReader) throws(FieldError) {
        let options = try fields.options(5)
        let text = try fields.required(1, "rpId", as: \.text)
        guard let relyingPartyID = RelyingPartyID(text) else { throw .invalid("rpId") }
        self.init(
            relyingPartyID: relyingPartyID,
            clientDataHash: try fields.bytes(2, "clientDataHash", as: ClientDataHash.init(bytes:)),
            allowList: try [CredentialDescriptor](fields.maps(3, "allowList")),
            extensions: try fields.optional(4, "extensions", as: \.map),
            userPresence: options["up"] ?? true,
            userVerification: options["uv"] ?? false
        )
    }

    /// The parameters by their number.
    var parameters: CBORMap {
        var map: CBORMap = [1: .text(relyingPartyID.text), 2: .bytes(clientDataHash.bytes)]
        if !allowList.isEmpty { map[3] = allowList.cbor }
        if let extensions { map[4] = .map(extensions) }
        // Only what differs from CTAP's defaults is sent, as browsers do.
        var options = CBORMap()
        if !userPresence { options["up"] = false }
        if userVerification { options["uv"] = true }
        if !options.isEmpty { map[5] = .map(options) }
        return map
    }
}
