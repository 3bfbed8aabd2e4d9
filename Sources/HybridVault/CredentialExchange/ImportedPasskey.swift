// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCBOR
internal import HybridCTAP

/// A passkey out of a file, as the members of a record that is not written yet.
struct ImportedPasskey: Sendable {
    /// What makes it the same as another.
    struct Name: Hashable, Sendable {
        let relyingParty: RelyingPartyID
        let credential: CredentialID
    }

    let name: Name
    /// All members but `order`, and `created` where the file does not say it.
    private let members: CBORMap

    /// Puts together what the format has members for and what this program said besides.
    init(_ fields: PasskeyFields, created: UInt64?, own: OwnExtension?) throws(SkippedCredential) {
        name = Name(relyingParty: fields.relyingParty, credential: fields.id)
        // What the format has a member for stands there, and wins.
        var members = own?.rest.flatMap { try? CBORDecoder.decode($0, mode: .strict) }?.map ?? CBORMap()
        var user = members["user"]?.map ?? CBORMap()
        user["id"] = .bytes(fields.user.id.bytes)
        user["name"] = .text(fields.user.name)
        user["displayName"] = .text(fields.user.displayName)
        members["user"] = .map(user)
        members["id"] = .bytes(fields.id.bytes)
        members["rp"] = .text(fields.relyingParty.text)
        members["alg"] = .integer(PasskeyBody.es256)
        members["key"] = .bytes(Array(fields.key.rawRepresentation))
        // What comes out of another program can be in two places: that is what the flag says.
        members["be"] = .boolean(own?.isBackupEligible ?? true)
        if own?.isDiscoverable == false { members["rk"] = false }
        if let created { members["created"] = .unsigned(created) }
        if let secrets = fields.secrets {
            members["prf"] = .bytes(secrets.verified)
            let made = PasskeyBody.otherSecret(of: secrets.verified, credential: fields.id)
            members[PasskeyBody.otherSecret] = secrets.other.flatMap { $0 == made ? nil : .bytes($0) }
        }
        if let foreign = fields.foreign.member { members[PasskeyBody.foreignExtensions] = foreign }
        self.members = members
        let padded = body(order: .max, now: .max).padded
        guard padded.count <= RecordFile.maximumContent else { throw .tooLarge }
        // Other members may bring the whole beyond what a record is read with, and nobody could use it then.
        let read = padded.withUnsafeBytes { RecordBody(padded: $0) }?.members
        guard read.flatMap({ PasskeyBody(members: $0).passkey }) != nil else {
            throw .malformed(member: "extension \(ExchangeFormat.extensionName)")
        }
    }

    /// The content of its record.
    func body(order: UInt64, now: UInt64) -> RecordBody {
        var members = members
        members["order"] = .unsigned(order)
        if members["created"] == nil { members["created"] = .unsigned(now) }
        return RecordBody(kind: RecordBody.passkey, members: members)
    }
}
