// SPDX-License-Identifier: Apache-2.0

private import FoundationEssentials
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
    package static func read(_ json: [UInt8]) throws(ReadError) -> [PasskeySignal] {
        guard json.count <= maximumLength else { throw .invalid("it is longer than 1 MiB") }
        do {
            try DocumentBounds.check(json)
            let signals = try JSONDecoder().decode(SignalList.self, from: Data(json)).signals
            guard (1...maximumCount).contains(signals.count) else {
                throw ReadError.invalid("an array has 1 to \(maximumCount) signals")
            }
            return signals
        } catch let error as ReadError {
            throw error
        } catch let error as ExchangeFile.ParseError {
            throw .invalid(error.reason)
        } catch let error as DecodingError {
            throw .invalid(error.reason)
        } catch {
            throw .invalid("it is not JSON")
        }
    }
}

/// One signal or an array of signals.
private struct SignalList: Decodable {
    let signals: [PasskeySignal]

    init(from decoder: any Decoder) throws {
        let isArray = (try? decoder.unkeyedContainer()) != nil
        signals = isArray ? try [SignalFields](from: decoder).map(\.signal) : [try SignalFields(from: decoder).signal]
    }
}

/// The members of one signal; unknown ones are ignored, as in every dictionary of WebIDL.
private struct SignalFields: Decodable {
    let signal: PasskeySignal

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case rpId
        case credentialId
        case userId
        case allAcceptedCredentialIds
        case name
        case displayName
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let rpID = try container.decode(String.self, forKey: .rpId)
        // Signals come from websites, which have no passkeys for local services.
        let relyingParty = try Self.valid(RelyingPartyID(rpID), .rpId)
        func bytes(_ name: CodingKeys) throws -> [UInt8] {
            let text = try container.decode(String.self, forKey: name)
            return try Self.valid(Base64URL.decode(text, maximumLength: CredentialID.maximumLength), name)
        }
        func user() throws -> UserHandle { try Self.valid(UserHandle(bytes: try bytes(.userId)), .userId) }
        let kinds: [CodingKeys] = [.credentialId, .allAcceptedCredentialIds, .name].filter(container.contains)
        switch kinds {
        case [.credentialId]:
            let id = try Self.valid(CredentialID(bytes: try bytes(.credentialId)), .credentialId)
            signal = .unknownCredential(relyingParty, id)
        case [.allAcceptedCredentialIds]:
            let texts = try container.decode([String].self, forKey: .allAcceptedCredentialIds)
            // A malformed ID could be that of a passkey here, which would then be hidden.
            let accepted = try texts.map { text in
                let id = Base64URL.decode(text, maximumLength: CredentialID.maximumLength)
                return try Self.valid(id.flatMap { CredentialID(bytes: $0) }, .allAcceptedCredentialIds)
            }
            signal = .allAcceptedCredentials(relyingParty, try user(), Set(accepted))
        case [.name]:
            let name = EntityName.shortened(try container.decode(String.self, forKey: .name))
            let displayName = EntityName.shortened(try container.decode(String.self, forKey: .displayName))
            signal = .currentUserDetails(
                relyingParty,
                UserEntity(id: try user(), name: name, displayName: displayName)
            )
        default:
            throw PasskeySignal.ReadError.invalid(
                "a signal has one of credentialId, allAcceptedCredentialIds, or name with displayName"
            )
        }
    }

    private static func valid<Value>(_ value: Value?, _ name: CodingKeys) throws -> Value {
        guard let value else {
            throw PasskeySignal.ReadError.invalid("\(name.rawValue) is not what the standard has there")
        }
        return value
    }
}
