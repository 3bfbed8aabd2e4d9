// SPDX-License-Identifier: Apache-2.0

public import HybridCBOR

/// A signature by a credential (response to `authenticatorGetAssertion`, CTAP 2.2 §6.2).
public struct GetAssertionResponse: Equatable, Sendable {
    /// The credential that created the signature.
    ///
    /// It may be absent if the allow list had exactly one entry.
    public var credential: CredentialDescriptor?
    /// The authenticator data, which the signature covers.
    public var authenticatorData: AuthenticatorData
    /// Signature over authenticator data and client data hash.
    public var signature: [UInt8]
    /// The account, if the request left its choice to the authenticator.
    public var user: UserEntity?
    /// Number of credentials that match the request; `nil` means one.
    public var numberOfCredentials: Int?
    /// True if the user selected the account on the authenticator.
    public var userSelected: Bool
    /// Extension outputs that the signature does not cover; `nil` if absent.
    public var unsignedExtensionOutputs: CBORMap?

    /// Creates a response from its parts.
    public init(
        credential: CredentialDescriptor?,
        authenticatorData: AuthenticatorData,
        signature: [UInt8],
        user: UserEntity? = nil,
        numberOfCredentials: Int? = nil,
        userSelected: Bool = false,
        unsignedExtensionOutputs: CBORMap? = nil
    ) {
        self.credential = credential
        self.authenticatorData = authenticatorData
        self.signature = signature
        self.user = user
        self.numberOfCredentials = numberOfCredentials
        self.userSelected = userSelected
        self.unsignedExtensionOutputs = unsignedExtensionOutputs
    }

    /// Creates a response from the body of a successful ``CTAPResponse``.
    ///
    /// Credential, authenticator data and signature must be valid. Of the other members, which no signature covers,
    /// what is malformed counts as absent.
    public init(parsing body: [UInt8]) throws(CTAPResponseError) {
        let fields = FieldReader<CTAPResponseError>(try CBORMap(responseBody: body))
        credential = try fields.optionalNested(1, "credential").map(CredentialDescriptor.init)
        signature = try fields.required(3, "signature", as: \.bytes)
        // Some authenticators send an empty user handle instead of omitting the user.
        user = fields.ignorable(4, as: \.map).flatMap(UserEntity.init(answered:))
        numberOfCredentials = fields.ignorable(5, as: \.integer)
        userSelected = fields.ignorable(6, as: \.boolean) ?? false
        unsignedExtensionOutputs = fields.ignorable(8, as: \.map)
        authenticatorData = try fields.authenticatorData(2)
    }

    /// The canonical CBOR.
    public var encoded: [UInt8] {
        var map: CBORMap = [2: .bytes(authenticatorData.encoded), 3: .bytes(signature)]
        if let credential { map[1] = credential.cbor }
        if let user { map[4] = user.responseCBOR }
        if let numberOfCredentials { map[5] = .integer(numberOfCredentials) }
        if userSelected { map[6] = true }
        if let unsignedExtensionOutputs { map[8] = .map(unsignedExtensionOutputs) }
        return CBOREncoder.encode(map)
    }
}
