// SPDX-License-Identifier: Apache-2.0

internal import HybridAge
internal import HybridCTAP
internal import HybridPrimitives
internal import HybridProgram

/// The creation of a passkey for a key: a request to a phone, and the passkey in its response.
struct SecretPasskeyCreation: Sendable {
    /// A new passkey.
    struct Passkey: Sendable {
        let descriptor: CredentialDescriptor
        /// The key from the results; `nil` if the phone returns results at sign-in only.
        let results: PRFKey?
    }

    let request: MakeCredentialRequest
    private let name: SecretName
    /// True for a further phone of a key.
    private let isAddition: Bool

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - name: The name of the key.
    ///   - relyingPartyID: The relying party.
    ///   - nonce: The nonce of the results.
    ///   - phones: The passkeys of the key's other phones.
    init(
        _ name: SecretName,
        _ relyingPartyID: RelyingPartyID,
        nonce: PRFNonce,
        excluding phones: [CredentialDescriptor]
    ) {
        self.name = name
        isAddition = !phones.isEmpty
        request = MakeCredentialRequest(
            clientDataHash: .ofSecrets,
            // Phones require both names, and show the account only.
            relyingParty: RelyingPartyEntity(id: relyingPartyID, name: relyingPartyID.text),
            user: UserEntity(
                id: .random(),
                name: "\(name) (encryption key)",
                displayName: "Encryption key “\(name)”. Deleting it loses files."
            ),
            algorithms: [.es256],
            excludeList: phones,
            extensions: PRFInput(salts: nonce.salts).extensionInput,
            residentKey: true,
            userVerification: true
        )
    }

    var relyingPartyID: RelyingPartyID { request.relyingParty.id }

    /// The purpose on one line.
    var purpose: String {
        let key = "the encryption key \(SafeText(quoting: name.text))"
        return isAddition ? "add a phone to \(key)" : "create \(key)"
    }

    /// The event `request` for a prompt, on one line without a line end.
    func event(timeout: Duration) -> String {
        let operation = isAddition ? "secret-add-phone" : "secret-create"
        let members: [(String, JSONText)] = [("operation", .string(operation)), ("key", .string(name.text))]
        return JSONText.request(members, relyingPartyID, timeout)
    }

    /// Returns the passkey in a phone's response.
    ///
    /// - Throws: ``CommandFailure``; if a useless passkey exists now, it names the passkey to delete.
    func passkey(in bytes: [UInt8]) throws(CommandFailure) -> Passkey {
        guard let response = try? CTAPResponse(parsing: bytes), response.status == .success,
            let created = try? MakeCredentialResponse(parsing: response.body),
            created.authenticatorData.relyingPartyIDHash == relyingPartyID.hash,
            let credential = created.authenticatorData.attestedCredential
        else {
            throw CommandFailure("the phone's response has no new passkey; try a different phone", status: .dataError)
        }
        guard created.authenticatorData.flags.contains(.userVerified) else {
            throw useless(
                "the phone did not verify its user, because it may have no screen lock",
                code: "user-not-verified"
            )
        }
        // A malformed output, or one result of two, counts as none.
        let output = (try? PRFOutput(unsignedOutputs: created.unsignedExtensionOutputs)) ?? nil
        let results = PRFKey(output)
        guard output?.isEnabled == true || results != nil else {
            throw useless("the phone's password app gives no secrets of passkeys (prf)", code: "no-prf-in-app")
        }
        // Hints for the browser of a page that shares files.
        return Passkey(
            descriptor: CredentialDescriptor(id: credential.id, transports: ["hybrid", "internal"]),
            results: results
        )
    }

    /// Returns a failure of the sign-in that also says which passkey is left on the phone.
    func leftPasskey(_ failure: CommandFailure) -> CommandFailure {
        let passkey = "the passkey \(SafeText(quoting: request.user.name)) of \(relyingPartyID)"
        return CommandFailure(
            "\(failure.sentence); nothing is stored here, so delete \(passkey) on the phone",
            code: failure.code,
            status: failure.status
        )
    }

    /// The failure after which a passkey of no use is on the phone.
    func useless(_ cause: String, code: String) -> CommandFailure {
        CommandFailure(
            "\(cause); delete the passkey \(SafeText(quoting: request.user.name)) of \(relyingPartyID) there, and choose "
                + "another app or phone",
            code: code,
            status: .dataError
        )
    }
}

extension UserHandle {
    /// A handle of 16 random bytes, because a phone replaces a passkey with the same handle.
    fileprivate static func random() -> UserHandle {
        guard let handle = UserHandle(bytes: [UInt8].random(16)) else { preconditionFailure("16 bytes are accepted") }
        return handle
    }
}
