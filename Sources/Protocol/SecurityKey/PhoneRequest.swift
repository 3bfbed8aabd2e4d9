// SPDX-License-Identifier: Apache-2.0

internal import HybridCBOR
public import HybridCTAP
private import HybridPrimitives

/// A request that needs the phone, in the form that phones accept.
///
/// Clients of security keys send requests that phones reject or answer differently. These are the only changes:
/// - Names that phones require are added.
/// - Transport hints, PIN tokens, enterprise attestation, `prf` and extensions that phones do not know are removed.
/// - The user must be present and verified.
/// - OpenSSH's user handle, which is the same for all keys, becomes a random one. Otherwise a second SSH key would
///   replace the first.
public struct PhoneRequest: Equatable, Sendable {
    /// The request for phones that support all of its extensions.
    private let request: CTAPRequest

    /// The relying party.
    public var relyingParty: RelyingPartyID {
        switch request {
        case .makeCredential(let request): request.relyingParty.id
        case .getAssertion(let request): request.relyingPartyID
        case .getInfo, .selection: preconditionFailure("not created from such requests")
        }
    }

    /// The credentials with which the phone may sign; empty for a registration, and for any discoverable one.
    var allowedIDs: [CredentialID] {
        guard case .getAssertion(let request) = request else { return [] }
        return request.allowList.map(\.id)
    }

    /// True if the request creates a credential.
    public var isRegistration: Bool { request.command == .makeCredential }

    /// Returns the request for a phone.
    ///
    /// - Parameter phone: The description that the phone sent after the handshake.
    public func request(for phone: AuthenticatorInfo) -> CTAPRequest {
        guard !phone.extensions.contains(CredentialProtection.extensionName) else { return request }
        switch request {
        case .makeCredential(var request):
            request.extensions = request.extensions?.keeping(Self.extensions)
            return .makeCredential(request)
        case .getAssertion, .getInfo, .selection:
            return request
        }
    }

    /// Extensions that phones know under these names.
    ///
    /// `prf` is not one of them: its secret would cross the device unencrypted, and each program that has the device open
    /// receives all responses.
    static let extensions: Set<String> = [LargeBlobInput.extensionName]

    /// The user handle of all keys that OpenSSH creates.
    private static let sharedHandle = [UInt8](repeating: 0, count: 32)

    /// Creates a request from one for a new credential.
    ///
    /// - Parameters:
    ///   - received: The request, in which absent names are already added.
    ///   - random: A source of random bytes.
    init(_ received: MakeCredentialRequest, random: (Int) -> [UInt8]) {
        var request = received
        request.userVerification = true
        request.excludeList = request.excludeList.map { CredentialDescriptor(id: $0.id, type: $0.type) }
        request.extensions = request.extensions?.keeping(Self.extensions.union([CredentialProtection.extensionName]))
        if request.relyingParty.id.kind == .ssh, request.user.id.bytes == Self.sharedHandle,
            let handle = UserHandle(bytes: random(Self.sharedHandle.count))
        {
            let name = "ssh:" + Hex.encode(handle.bytes.prefix(4))
            request.user = UserEntity(id: handle, name: name, displayName: name)
        }
        self.request = .makeCredential(request)
    }

    /// Creates a request from one for a signature.
    init(_ received: GetAssertionRequest) {
        var request = received
        request.userPresence = true
        request.userVerification = true
        request.allowList = request.allowList.map { CredentialDescriptor(id: $0.id, type: $0.type) }
        request.extensions = request.extensions?.keeping(Self.extensions)
        self.request = .getAssertion(request)
    }
}

// MARK: - The phone's response

extension PhoneRequest {
    /// The meaning of a phone's response for the client.
    enum Outcome {
        /// The client receives the response; the credential was created or used.
        case success(CTAPResponse, CredentialID)
        /// The phone already has a credential of the exclude list, which the user must see before the client does.
        case excluded
        /// The client receives this status.
        case failure(CTAPStatus)
    }

    /// Returns the meaning of a phone's response.
    ///
    /// A client repeats its request, or asks for a PIN, after `CTAP2_ERR_OPERATION_DENIED` and
    /// `CTAP2_ERR_PIN_AUTH_INVALID`. The user would see one code after another. Most failures therefore become
    /// `CTAP2_ERR_USER_ACTION_TIMEOUT`, after which clients give up.
    func outcome(of response: CTAPResponse) -> Outcome {
        switch response.status {
        case .success: translated(response.body) ?? .failure(.other)
        case .credentialExcluded: isRegistration ? .excluded : .failure(.userActionTimeout)
        case .noCredentials: .failure(.noCredentials)
        default: .failure(.userActionTimeout)
        }
    }

    /// Returns the response for the client; `nil` if the phone's response does not fit the request.
    private func translated(_ body: [UInt8]) -> Outcome? {
        guard let received = try? CBORDecoder.decode(body, mode: .lenient).map else { return nil }
        switch request {
        case .makeCredential(let request):
            guard let response = try? MakeCredentialResponse(parsing: body),
                response.authenticatorData.relyingPartyIDHash == request.relyingParty.id.hash,
                let credential = response.authenticatorData.attestedCredential
            else { return nil }
            var members = CBORMap(received.entries.filter { [1, 2, 3].contains($0.key) }.map { ($0.key, $0.value) })
            members[3] = .map(response.attestationStatement)
            return .success(.success(CBOREncoder.encode(members)), credential.id)
        case .getAssertion(let request):
            guard let response = try? GetAssertionResponse(parsing: body),
                response.authenticatorData.relyingPartyIDHash == request.relyingPartyID.hash,
                let credential = Self.credential(response, allowed: request.allowList)
            else { return nil }
            var members = CBORMap([1, 2, 3].compactMap { key in received[key].map { (key, $0) } })
            if response.credential == nil { members[1] = ["id": .bytes(credential.bytes), "type": "public-key"] }
            // Not as received: a malformed name is no reason for the client to refuse the response.
            members[4] = response.user?.responseCBOR
            // Chromium rejects this member in the response to a request with an allow list.
            if response.userSelected, request.allowList.isEmpty { members[6] = true }
            return .success(.success(CBOREncoder.encode(members)), credential)
        case .getInfo, .selection:
            return nil
        }
    }

    /// Returns the credential that signed; `nil` if the request does not allow it.
    private static func credential(
        _ response: GetAssertionResponse,
        allowed: [CredentialDescriptor]
    ) -> CredentialID? {
        guard let credential = response.credential else { return allowed.count == 1 ? allowed.first?.id : nil }
        guard credential.isPublicKey else { return nil }
        return allowed.isEmpty || allowed.contains { $0.isPublicKey && $0.id == credential.id } ? credential.id : nil
    }
}

extension CBORMap {
    /// Returns the entries with these keys; `nil` if there are none.
    func keeping(_ names: Set<String>) -> CBORMap? {
        let kept = entries.filter { $0.key.text.map(names.contains) ?? false }
        return kept.isEmpty ? nil : CBORMap(kept.map { ($0.key, $0.value) })
    }
}
