// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCBOR
internal import HybridCTAP

/// A passkey from a file, as the members of a record that has not been written yet.
struct ImportedPasskey: Sendable {
    /// The identity of a passkey: two passkeys with equal identities are the same passkey.
    struct ID: Hashable, Sendable {
        let relyingParty: RelyingPartyID
        let credential: CredentialID
    }

    let id: ID
    let label: PasskeyLabel
    /// All members except `order`, and `created` if the file lacks it.
    private let members: CBORMap

    /// Creates a passkey from the format's members and those of this program's extension.
    init(_ fields: PasskeyFields, created: UInt64?, hybridExtension: HybridExtension?) throws(SkippedCredential) {
        id = ID(relyingParty: fields.relyingParty, credential: fields.id)
        label = PasskeyLabel(fields)
        // The format's own members take precedence.
        var members = hybridExtension?.rest.flatMap { try? CBORDecoder.decode($0, mode: .strict) }?.map ?? CBORMap()
        var user = members["user"]?.map ?? CBORMap()
        user["id"] = .bytes(fields.user.id.bytes)
        user["name"] = .text(fields.user.name)
        user["displayName"] = .text(fields.user.displayName)
        members["user"] = .map(user)
        members["id"] = .bytes(fields.id.bytes)
        members["rp"] = .text(fields.relyingParty.text)
        members["alg"] = .integer(PasskeyBody.es256)
        members[PasskeyBody.imported] = true
        members["key"] = .bytes(Array(fields.key.rawRepresentation))
        // A passkey from another program may already exist in two places, as this flag indicates.
        members["be"] = .boolean(hybridExtension?.isBackupEligible ?? true)
        if (hybridExtension?.isDiscoverable ?? fields.isDiscoverable) == false { members["rk"] = false }
        if let created = fields.created ?? created { members["created"] = .unsigned(created) }
        if let secrets = fields.secrets {
            members["prf"] = .bytes(secrets.verified)
            let made = PasskeyBody.otherSecret(of: secrets.verified, credential: fields.id)
            members[PasskeyBody.otherSecret] = secrets.other.flatMap { $0 == made ? nil : .bytes($0) }
        }
        if let foreign = fields.foreign.member { members[PasskeyBody.foreignExtensions] = foreign }
        self.members = members
        let padded = body(order: .max, now: .max).padded
        guard padded.count <= RecordFile.maximumContent else { throw .tooLarge }
        // With the other members, the record may exceed a limit of the decoder; the passkey would then be unusable.
        let read = padded.withUnsafeBytes { RecordBody(padded: $0) }?.members
        guard read.flatMap({ PasskeyBody(members: $0).passkey }) != nil else {
            throw .malformed(member: "extension \(ExchangeFormat.extensionName)")
        }
    }

    /// Returns the contents of the passkey's record.
    func body(order: UInt64, now: UInt64) -> RecordBody {
        var members = members
        members["order"] = .unsigned(order)
        if members["created"] == nil { members["created"] = .unsigned(now) }
        return RecordBody(kind: RecordBody.passkey, members: members)
    }
}
