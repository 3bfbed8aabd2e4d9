// SPDX-License-Identifier: Apache-2.0

import Crypto
import HybridAuthenticator
import HybridCTAP
import HybridCaBLE
import HybridCredentialExchange
import HybridPrimitives

@testable import HybridTransfer

/// Both sides of a transfer, and what they have.
struct Session {
    static let giverVault = TransferVault(fingerprint: "12345 67890", id: [UInt8](repeating: 1, count: 16))
    static let receiverVault = TransferVault(fingerprint: "99887 11223", id: [UInt8](repeating: 2, count: 16))

    /// A vault that holds any passkey.
    static func takeAll(_: ExchangedPasskey) throws(SkippedCredential) {}

    let hash = HandshakeHash(checked: [UInt8](repeating: 0x5A, count: HandshakeHash.length))
    var receiver = TransferReceiver(name: "Ada's laptop", vault: receiverVault)
    var giver = TransferGiver(purpose: .give, name: "Bob's phone", vault: giverVault)

    /// Returns a session in which a device joins the giver's vault.
    static func joining() -> Session {
        var session = Session()
        session.receiver = TransferReceiver(joiningAs: "New")
        session.giver = TransferGiver(purpose: .join, name: "Old", vault: giverVault)
        return session
    }

    /// Returns both sides when the digits are known.
    func compared() throws -> (receiver: GreetedGiver, giver: ComparedReceiver) {
        let greeted = try giver.receive(receiver.frame, hash: hash)
        let met = try receiver.receive(greeted.frame, hash: hash)
        return (met, try greeted.receive(met.frame))
    }

    /// Returns both sides when the offer has arrived.
    func offered(_ passkeys: [ExchangedPasskey], isMove: Bool = false) throws -> (ReceivedOffer, SentOffer) {
        let (receiver, giver) = try compared()
        let sent = try giver.answer(.agreed).offer(passkeys, isMove: isMove, time: 1_800_000_000)
        return (try receiver.receive(sent.frame), sent)
    }

    /// Returns both sides when the first batch is sent.
    func accepted(_ passkeys: [ExchangedPasskey], which: [Int]? = nil) throws -> (AwaitedItems, SentBatch) {
        let (offer, sent) = try offered(passkeys)
        let awaited = try offer.answer(.agreed, which: which)
        return (awaited, try sent.receive(awaited.frame))
    }

    /// Gives passkeys to a receiver that stores all of them; returns the batches.
    func give(_ passkeys: [ExchangedPasskey], which: [Int]? = nil) throws -> [[ExchangedPasskey]] {
        let (awaited, first) = try accepted(passkeys, which: which)
        var batches: [[ExchangedPasskey]] = []
        var sent = first
        var batch = try awaited.receive(first.frame, checking: Self.takeAll)
        while true {
            batches.append(batch.file.passkeys)
            let stored = batch.stored(Set(batch.file.passkeys.map(\.id)))
            let confirmed = try sent.receive(stored.frame)
            guard let next = try confirmed.next() else {
                try stored.receiveDone(confirmed.doneFrame)
                return batches
            }
            sent = next
            batch = try stored.receive(next.frame, checking: Self.takeAll)
        }
    }
}

/// Returns a passkey of a site.
func passkey(
    _ number: Int,
    site: String = "example.com",
    user: String? = nil,
    created: UInt64? = 1_700_000_000,
    key: P256.Signing.PrivateKey = P256.Signing.PrivateKey(),
    rest: [UInt8]? = nil
) throws -> ExchangedPasskey {
    let id: [UInt8] = [1, UInt8(number >> 8), UInt8(number & 0xFF)]
    guard let credential = CredentialID(bytes: id), let handle = UserHandle(bytes: [9]),
        let party = RelyingPartyID(site, accepting: Set(RelyingPartyID.Kind.allCases))
    else { throw TransferFailure.failed }
    return ExchangedPasskey(
        passkey: Passkey(
            id: credential,
            relyingParty: party,
            user: UserEntity(id: handle, name: user ?? "user \(number)", displayName: ""),
            privateKey: key,
            isBackupEligible: number.isMultiple(of: 2),
            isDiscoverable: !number.isMultiple(of: 3),
            prfSecret: PRFSecret(bytes: [UInt8](repeating: UInt8(number & 0xFF), count: 32))
        ),
        created: created,
        otherSecret: nil,
        foreign: ForeignExtensions(),
        rest: rest
    )
}

/// Returns the message with another value of a member, or with one more.
func changing(_ frame: TransferFrame, _ name: String, to value: JSONText?) throws -> TransferFrame {
    try edit(frame) { members in
        members.removeAll { $0.0 == name }
        if let value { members.append((name, value)) }
    }
}

/// Returns the message with other members.
func edit(_ frame: TransferFrame, _ change: (inout [(String, JSONText)]) -> Void) throws -> TransferFrame {
    guard case .object(var members) = try JSONText(parsing: frame.bytes) else { throw TransferFailure.failed }
    change(&members)
    return try TransferFrame(padding: Array(JSONText.object(members).description.utf8))
}

/// Returns a member of a message.
func member(_ frame: TransferFrame, _ path: String...) throws -> JSONText? {
    try path.reduce(JSONText(parsing: frame.bytes)) { $0?.member($1) }
}

/// Returns the document with passkeys that an export has, to compare all of their members.
func document(_ passkeys: [ExchangedPasskey]) -> [UInt8] {
    var writer = JSONWriter()
    ExchangeDocument.write(passkeys.map { (item: [1], passkey: $0) }, account: [2], time: 3, to: &writer)
    return writer.bytes
}
