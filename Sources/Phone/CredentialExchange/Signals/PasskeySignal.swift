// SPDX-License-Identifier: Apache-2.0

package import HybridCTAP
package import HybridPrimitives

/// A message of a website about passkeys (WebAuthn Level 3 §5.1.10).
///
/// A signal deletes nothing: passkeys that the website does not accept are hidden, and a later signal shows them again.
package enum PasskeySignal: Equatable, Sendable {
    /// The website does not know a credential.
    case unknownCredential(RelyingPartyID, CredentialID)
    /// The website accepts these credentials of an account and no others.
    case allAcceptedCredentials(RelyingPartyID, UserHandle, Set<CredentialID>)
    /// The names of an account.
    case currentUserDetails(RelyingPartyID, UserEntity)

    /// Maximum length of a file in bytes; 10,000 credential IDs of 64 bytes fit.
    package static let maximumLength = 1 << 20
    /// Maximum number of signals in one file.
    package static let maximumCount = 100

    /// A reason to reject signals, as a failure of a command.
    package struct ReadError: ExplainedFailure, Equatable {
        let reason: String

        package var code: String { status.name }
        package var sentence: String { "the signal can't be used: \(reason); nothing was changed" }
        package var status: ExitStatus { .dataError }

        fileprivate static func invalid(_ reason: String) -> ReadError { ReadError(reason: reason) }
    }

    /// The website.
    package var relyingParty: RelyingPartyID {
        switch self {
        case .unknownCredential(let relyingParty, _), .allAcceptedCredentials(let relyingParty, _, _),
            .currentUserDetails(let relyingParty, _):
            relyingParty
        }
    }

    /// Reads one signal, or an array of 1 to 100, in JSON.
    ///
    /// - Returns: The signals, without those about an ID of 0 or more than 1,023 bytes, which no passkey has.
    package static func read(_ json: [UInt8]) throws(ReadError) -> [PasskeySignal] {
        guard json.count <= maximumLength else { throw .invalid("it is longer than 1 MiB") }
        do {
            let text = try JSONText(parsing: json, maximumValues: ExchangeFormat.maximumValues, mayBeMarked: true)
            let document = JSONCursor(text, named: "the document")
            let signals = text.elements == nil ? [document] : try document.elements
            guard (1...maximumCount).contains(signals.count) else {
                throw ReadError.invalid("an array has 1 to \(maximumCount) signals")
            }
            return try signals.compactMap { try PasskeySignal($0) }
        } catch let error as ReadError {
            throw error
        } catch {
            throw .invalid(ExchangeFile.ParseError(error).reason)
        }
    }

    /// Reads the members of one signal; unknown ones are ignored, as in every dictionary of WebIDL.
    ///
    /// It is `nil` if no passkey can have the ID.
    private init?(_ json: JSONCursor) throws {
        func valid<Value>(_ name: String, _ json: JSONCursor, _ read: (String) -> Value?) throws -> Value {
            guard let value = read(try json.text) else {
                throw ReadError.invalid("\(name) is not what the standard has there")
            }
            return value
        }
        func member<Value>(_ name: String, _ read: (String) -> Value?) throws -> Value {
            try valid(name, json.member(name), read)
        }
        func user() throws -> UserHandle {
            try member("userId") { Base64URL.decode($0, maximumLength: 64).flatMap { UserHandle(bytes: $0) } }
        }
        // Signals come from websites, which have no passkeys for local services.
        let relyingParty = try member("rpId") { RelyingPartyID($0) }
        let kinds = ["credentialId", "allAcceptedCredentialIds", "name"].filter { json.value.member($0) != nil }
        switch kinds {
        case ["credentialId"]:
            let bytes = try member("credentialId") { Base64URL.decode($0) }
            guard let id = CredentialID(bytes: bytes) else { return nil }
            self = .unknownCredential(relyingParty, id)
        case ["allAcceptedCredentialIds"]:
            // A malformed ID could be that of a passkey here, which would then be hidden.
            let name = "allAcceptedCredentialIds"
            let accepted = try json.member(name).elements.map { try valid(name, $0) { Base64URL.decode($0) } }
            self = .allAcceptedCredentials(
                relyingParty,
                try user(),
                Set(accepted.compactMap { CredentialID(bytes: $0) })
            )
        case ["name"]:
            let name = EntityName.shortened(try json.member("name").text)
            let displayName = EntityName.shortened(try json.member("displayName").text)
            self = .currentUserDetails(
                relyingParty,
                UserEntity(id: try user(), name: name, displayName: displayName)
            )
        default:
            throw ReadError.invalid(
                "a signal has one of credentialId, allAcceptedCredentialIds, or name with displayName"
            )
        }
    }
}
