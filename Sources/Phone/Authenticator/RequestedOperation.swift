// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridCTAP
public import HybridSSHAgent

/// An operation that a client requests for a relying party.
public enum RequestedOperation: Equatable, Sendable {
    /// Creation of a passkey, which signs only data of one kind if the client states it.
    case create(RelyingPartyID, for: SignedDataKind? = nil, givingSecret: Bool = false)
    /// Sign-in with a passkey, or a signature of data that the client does not state.
    case signIn(RelyingPartyID, givingSecret: Bool = false)
    /// Signature of an SSH login or message that the client states.
    case signSSH(RelyingPartyID, SignedData.Content, givingSecret: Bool = false)

    /// Creates the operation of a request for a passkey.
    ///
    /// - Throws: ``AuthenticatorFailure/noSSHApplication``, ``AuthenticatorFailure/secretNotRequested``.
    init(_ request: MakeCredentialRequest) throws(AuthenticatorFailure) {
        let relyingParty = request.relyingParty.id
        let kind = request.signedDataKind
        guard kind == nil || Self.isForSSH(relyingParty) else { throw .noSSHApplication }
        try Self.check(relyingParty, request.prf)
        self = .create(relyingParty, for: kind, givingSecret: request.prf?.salts != nil)
    }

    /// Creates the operation of a request for a signature.
    ///
    /// Stated data must be what is signed, and an SSH login or message. Otherwise the user would see other data than
    /// the passkey signs, or none.
    ///
    /// - Throws: ``AuthenticatorFailure/signedDataMismatch``, ``AuthenticatorFailure/signedDataUnrecognized``,
    ///   ``AuthenticatorFailure/secretNotRequested``.
    init(_ request: GetAssertionRequest) throws(AuthenticatorFailure) {
        let relyingParty = request.relyingPartyID
        let givesSecret = request.prf.map { $0.salts != nil || !$0.saltsByCredential.isEmpty } ?? false
        try Self.check(relyingParty, request.prf)
        guard let stated = request.signedData else {
            self = .signIn(relyingParty, givingSecret: givesSecret)
            return
        }
        guard stated.matches(request.clientDataHash) else { throw .signedDataMismatch }
        guard Self.isForSSH(relyingParty), let application = SSHApplication(relyingParty.text),
            let data = try? SignedData(parsing: stated.bytes)
        else { throw .signedDataUnrecognized }
        if case .login(let login) = data.content, login.key.application != application {
            throw .signedDataUnrecognized
        }
        self = .signSSH(relyingParty, data.content, givingSecret: givesSecret)
    }

    /// Returns true if the relying party's passkeys may be SSH keys.
    ///
    /// A prompt for an SSH login would hide that the client gets an encryption key.
    private static func isForSSH(_ relyingParty: RelyingPartyID) -> Bool {
        SSHApplication(relyingParty.text) != nil && !relyingParty.isEncryptionKey
    }

    /// Throws if an encryption key is requested, but not its secret.
    private static func check(_ relyingParty: RelyingPartyID, _ prf: PRFInput?) throws(AuthenticatorFailure) {
        guard !relyingParty.isEncryptionKey || prf?.salts != nil else { throw .secretNotRequested }
    }

    /// The relying party.
    public var relyingParty: RelyingPartyID {
        switch self {
        case .create(let relyingParty, _, _), .signIn(let relyingParty, _), .signSSH(let relyingParty, _, _):
            relyingParty
        }
    }

    /// True if the client also gets a secret of the passkey: results of the extension `prf`.
    public var givesSecret: Bool {
        switch self {
        case .create(_, _, let givesSecret), .signIn(_, let givesSecret), .signSSH(_, _, let givesSecret): givesSecret
        }
    }

    /// True if the passkey is an SSH key.
    public var isForSSH: Bool {
        switch self {
        case .create(let relyingParty, let kind, _): kind == .ssh || relyingParty.kind == .ssh
        case .signIn(let relyingParty, _): relyingParty.kind == .ssh
        case .signSSH: true
        }
    }

    /// Returns true if a passkey may sign what the client requests.
    ///
    /// A passkey for one kind of data signs no data that the client does not state. A login is signed only with the key
    /// that it names.
    func isPermitted(for passkey: Passkey) -> Bool {
        switch self {
        case .create: false
        case .signIn: passkey.signedDataKind == nil
        case .signSSH(_, .message, _): true
        case .signSSH(_, .login(let login), _):
            passkey.privateKey.publicKey.x963Representation.elementsEqual(login.key.x963Representation)
        }
    }
}
