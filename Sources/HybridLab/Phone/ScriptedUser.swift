// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridCTAP
internal import HybridPrimitives
internal import HybridSSHAgent

/// A simulated user, who acts according to the script and reports each action.
///
/// Only `hybrid-lab` has a simulated user. `hybrid-auth` cannot answer for its user.
struct ScriptedUser: UserInteraction {
    let pin: PIN
    var script = PhoneScript()
    /// Called with a description of each prompt and its answer.
    let report: @Sendable (String) -> Void

    func askPIN(for operation: RequestedOperation, problem: PINProblem?) async throws(UserRefusal) -> PIN {
        if problem == nil { try await hesitate() }
        let question =
            switch operation {
            case .create(let site, _, _): "asked for the PIN to create a passkey for \(site)"
            case .signIn(let site, _): "asked for the PIN to sign in to \(site)"
            case .signSSH(let site, .login(let login), _):
                "asked for the PIN to log in to an SSH server as \(SafeText(quoting: login.user.description)) with the key "
                    + "of \(site)"
            case .signSSH(let site, .message(let message), _):
                "asked for the PIN to sign for \(SafeText(quoting: message.namespace.description)) with the key of \(site)"
            }
        guard script.user != .wrongPIN else {
            report("\(question); the script types a wrong one")
            return Self.wrongPIN ?? pin
        }
        report("\(question); the script types it")
        return pin
    }

    func confirmCreation(
        of account: UserEntity,
        for operation: RequestedOperation,
        replacing replaced: [UserEntity]
    ) async throws(UserRefusal) {
        try answer("asked whether to save a passkey for this account")
        report("asked whether to save a passkey for this account; the script confirms")
    }

    func chooseAccount(_ accounts: [UserEntity], for operation: RequestedOperation) async throws(UserRefusal) -> Int {
        let question = "asked which account to use, of \(accounts.count)"
        try answer(question)
        guard accounts.count >= script.pick else {
            report("\(question); the script wants number \(script.pick), so it declines")
            throw .declined
        }
        report(
            script.pick == 1
                ? "\(question); the script takes the first" : "\(question); the script takes number \(script.pick)"
        )
        return script.pick - 1
    }

    func show(_ notice: Notice, for operation: RequestedOperation) async throws(UserRefusal) {
        let fact =
            switch notice {
            case .noPasskey: "there is no passkey"
            case .dataNotStated: "the client does not state what its SSH key is to sign"
            case .alreadyRegistered: "a passkey exists already"
            }
        report("shown that \(fact)")
    }

    private func answer(_ question: String) throws(UserRefusal) {
        guard script.user == .deny else { return }
        report("\(question); the script declines")
        throw .declined
    }

    private func hesitate() async throws(UserRefusal) {
        guard script.wait > .zero else { return }
        do { try await Task.sleep(for: script.wait) } catch { throw .declined }
    }

    /// A PIN that does not unlock the lab's passkeys.
    private static let wrongPIN = "wrong".withCString { PIN(utf8: UnsafeRawBufferPointer(start: $0, count: 5)) }
}

extension PIN {
    /// The PIN of the lab's passkeys.
    static let lab: PIN = {
        guard let pin = "1234".withCString({ PIN(utf8: UnsafeRawBufferPointer(start: $0, count: 4)) }) else {
            preconditionFailure("four digits are a PIN")
        }
        return pin
    }()
}
