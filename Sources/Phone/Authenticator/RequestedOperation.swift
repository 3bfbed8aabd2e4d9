// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import HybridCTAP
public import HybridSSHAgent

/// An operation that a client requests for a relying party.
public enum RequestedOperation: Equatable, Sendable {
    /// Creation of a passkey, which signs only data of one kind if the client states it.
    case create(RelyingPartyID, for: SignedDataKind? = nil)
    /// Sign-in with a passkey, or a signature of data that the client does not state.
    case signIn(RelyingPartyID)
    /// Signature of an SSH login or message that the client states.
    case signSSH(RelyingPartyID, SignedData.Content)

    /// Creates the operation of a request for a signature.
    ///
    /// Stated data must be what is signed, and an SSH login or message. Otherwise the user would see other data than
    /// the passkey signs, or none.
    ///
    /// - Throws: ``AuthenticatorFailure/signedDataMismatch``, ``AuthenticatorFailure/signedDataUnrecognized``.
    init(_ request: GetAssertionRequest) throws(AuthenticatorFailure) {
        let relyingParty = request.relyingPartyID
        guard let stated = request.signedData else {
            self = .signIn(relyingParty)
            return
        }
        guard stated.matches(request.clientDataHash) else { throw .signedDataMismatch }
        guard let application = SSHApplication(relyingParty.text), let data = try? SignedData(parsing: stated.bytes)
        else { throw .signedDataUnrecognized }
        if case .login(let login) = data.content, login.key.application != application {
            throw .signedDataUnrecognized
        }
        self = .signSSH(relyingParty, data.content)
    }

    /// The relying party.
    public var relyingParty: RelyingPartyID {
        switch self {
        case .create(let relyingParty, _), .signIn(let relyingParty), .signSSH(let relyingParty, _): relyingParty
        }
    }

    /// True if the passkey is an SSH key.
    public var isForSSH: Bool {
        switch self {
        case .create(let relyingParty, let kind): kind == .ssh || relyingParty.kind == .ssh
        case .signIn(let relyingParty): relyingParty.kind == .ssh
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
        case .signSSH(_, .message): true
        case .signSSH(_, .login(let login)):
            passkey.privateKey.publicKey.x963Representation.elementsEqual(login.key.x963Representation)
        }
    }
}
