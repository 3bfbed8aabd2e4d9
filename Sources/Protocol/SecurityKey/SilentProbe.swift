// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCTAP
internal import HybridPrimitives

/// A client's question about the credentials of a list: which of them exist on this key.
///
/// The request has the option `up: false`, so it must be answered without a user. Browsers send it before each
/// sign-in with an allow list and before each registration with an exclude list. They send the credentials of the answer
/// in the real request.
struct SilentProbe {
    /// Maximum number of credentials in one request, as in getInfo.
    static let maximumCount = 64

    let relyingParty: RelyingPartyID
    let clientDataHash: ClientDataHash
    /// IDs in the order of the request, without entries of an unknown type.
    let ids: [CredentialID]

    /// Creates a probe from a request with the option `up: false`.
    ///
    /// - Throws: `CTAP2_ERR_UNSUPPORTED_OPTION` for a request whose signature the client would use.
    init(_ request: GetAssertionRequest) throws(CTAPRequestError) {
        ids = request.allowList.filter(\.isPublicKey).map(\.id)
        relyingParty = request.relyingPartyID
        clientDataHash = request.clientDataHash
        // ssh-keygen searches for keys in this way.
        guard !ids.isEmpty else { throw CTAPRequestError(status: .noCredentials, field: nil) }
        guard Self.isProbe(request) else { throw CTAPRequestError(status: .unsupportedOption, field: "options.up") }
        guard ids.count <= Self.maximumCount else { throw CTAPRequestError(status: .limitExceeded, field: "allowList") }
    }

    /// Returns true if no client uses the signature.
    ///
    /// A client that signs with a key that requires no touch also sends `up: false`. It must not receive the signature
    /// of a throw-away key. pam_u2f is an exception: its probe has a random hash, and it verifies each signature.
    private static func isProbe(_ request: GetAssertionRequest) -> Bool {
        request.relyingPartyID.kind == .pam || DummyHash.probes.contains(request.clientDataHash)
    }
}

/// Hashes that clients send when the signature does not matter.
enum DummyHash {
    /// SHA-256 of nothing: Firefox, Chromium, libfido2's touch request, and OpenSSH's search for a key.
    static let ofNothing = ClientDataHash(bytes: Array(SHA256.hash(data: [UInt8]())))
    /// SHA-256 of 32 zeros: OpenSSH.
    static let ofZeros = ClientDataHash(bytes: Array(SHA256.hash(data: [UInt8](repeating: 0, count: 32))))

    static let probes = Set([ofNothing, ofZeros].compactMap(\.self))
}

/// The answers to a probe: one for each credential, and the state of `authenticatorGetNextAssertion`.
struct SilentProbeAnswers {
    /// Time after which the remaining answers are forgotten (CTAP 2.2 §6.3).
    static let lifetime = Duration.seconds(30)

    private let probe: SilentProbe
    private let key: P256.Signing.PrivateKey
    private var remaining: ArraySlice<CredentialID>
    private(set) var end: Duration

    /// Creates the answers that a probe of at least one credential receives.
    ///
    /// - Parameters:
    ///   - probe: The probe.
    ///   - ids: The credentials to confirm.
    ///   - key: A key that belongs to no credential.
    ///   - now: The time.
    init(_ probe: SilentProbe, confirming ids: [CredentialID], key: P256.Signing.PrivateKey, at now: Duration) {
        self.probe = probe
        self.key = key
        remaining = ids[...]
        end = now + Self.lifetime
    }

    /// True if every answer was given.
    var isEmpty: Bool { remaining.isEmpty }

    /// Returns the first answer, which contains the number of credentials.
    mutating func first() -> CTAPResponse { next(count: remaining.count) }

    /// Returns another answer, and extends the lifetime of those that remain.
    mutating func next(at now: Duration) -> CTAPResponse {
        end = now + Self.lifetime
        return next(count: nil)
    }

    private mutating func next(count: Int?) -> CTAPResponse {
        guard let id = remaining.popFirst() else { return .failure(.notAllowed) }
        let data = AuthenticatorData(relyingPartyIDHash: probe.relyingParty.hash, flags: [], signatureCount: 0)
        guard let signature = try? key.signature(for: data.encoded + probe.clientDataHash.bytes) else {
            return .failure(.other)
        }
        let response = GetAssertionResponse(
            credential: CredentialDescriptor(id: id),
            authenticatorData: data,
            signature: Array(signature.derRepresentation),
            numberOfCredentials: count
        )
        return .success(response.encoded)
    }
}
