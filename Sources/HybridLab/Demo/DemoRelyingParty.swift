// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridRelyingParty
internal import HybridWebAuthn

/// A website's server with one account and one session.
struct DemoRelyingParty {
    private let party: RelyingParty
    private let account: UserEntity
    private let registrations = ChallengeStore<PendingRegistration>()
    private let signIns = ChallengeStore<PendingAuthentication>()
    private var registered: CredentialRecord?

    private static let session = "the only session"

    init(origin: String) throws {
        let origin = try Origin(origin)
        party = try RelyingParty(id: origin.host, name: "A shop", origins: [origin])
        guard let handle = UserHandle(bytes: Challenge.random().bytes) else {
            throw CommandFailure("cannot create a user handle", status: .software)
        }
        account = UserEntity(id: handle, name: "ada@example.com", displayName: "Ada")
    }

    func creationOptions() -> [UInt8] {
        let pending = party.beginRegistration(of: account)
        registrations.add(pending, session: Self.session)
        return Self.argument(pending.optionsJSON)
    }

    /// Returns options for a sign-in.
    ///
    /// - Parameter namesPasskey: True if the options name the registered passkey, as a site does for a known user.
    func requestOptions(namesPasskey: Bool = false) -> [UInt8] {
        let allowed = namesPasskey ? registered.map { [$0] } ?? [] : []
        let pending = party.beginAuthentication(of: namesPasskey ? account.id : nil, allowed: allowed)
        signIns.add(pending, session: Self.session)
        return Self.argument(pending.optionsJSON)
    }

    /// Verifies a registration and stores its key.
    ///
    /// - Returns: A name of the credential for the narration.
    mutating func verifyRegistration(_ json: [UInt8]) async throws -> String {
        do throws(ResponseRejection) {
            let response = try RegistrationResponse(json: json)
            let pending = try registrations.take(response.clientData, session: Self.session)
            registered = try await party.verify(response, for: pending, isRegistered: false).record
            return "credential \(Base64URL.encode(response.credentialID.bytes).prefix(8))…"
        } catch {
            throw Self.failure(error)
        }
    }

    /// Verifies a sign-in with the stored key.
    ///
    /// - Returns: The account's name.
    mutating func verifySignIn(_ json: [UInt8]) throws -> String {
        do throws(ResponseRejection) {
            let response = try AuthenticationResponse(json: json)
            let pending = try signIns.take(response.clientData, session: Self.session)
            registered = try party.verify(response, for: pending, stored: registered).record
            return account.name
        } catch {
            throw Self.failure(error)
        }
    }

    /// Returns the argument of `navigator.credentials`.
    private static func argument(_ options: [UInt8]) -> [UInt8] {
        Array(#"{"publicKey": "#.utf8) + options + Array("}".utf8)
    }

    private static func failure(_ rejection: ResponseRejection) -> CommandFailure {
        CommandFailure("the site rejects the response: \(rejection)", status: .software)
    }
}
