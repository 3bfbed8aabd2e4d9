// SPDX-License-Identifier: Apache-2.0

import Crypto
import TestSupport

@testable import HybridAuthenticator
@testable import HybridCTAP
@testable import HybridCaBLE
@testable import HybridCredentialExchange
@testable import HybridPrimitives
@testable import HybridTransfer

/// Fuzzes the messages of a transfer: the first byte is the stage that receives, and the rest is the message.
///
/// Keys and nonces are fixed, so that messages which were written before are still accepted. A fuzzer can't seal a payload.
/// Therefore one of the stages seals the input itself.
func fuzzTransferMessage(_ input: [UInt8]) throws -> Bool {
    guard let stage = input.first, input.count <= 1 << 16 else { return false }
    let frame = TransferFrame(received: Array(input.dropFirst()))
    do {
        switch stage % 8 {
        case 0: return try isGreeting(FuzzedTransfer.giver.receive(frame, hash: FuzzedTransfer.hash).hello.peer)
        case 1: return try isGreeting(FuzzedTransfer.receiver.receive(frame, hash: FuzzedTransfer.hash).giver)
        case 2:
            let compared = try FuzzedTransfer.greetedReceiver().receive(frame)
            return try isHeld(compared.digits == FuzzedTransfer.greetedGiver().digits, "digits agree")
        case 3: return try isOffer(FuzzedTransfer.greetedGiver().receive(frame).content)
        case 4: return try isBatch(FuzzedTransfer.sentOffer().receive(frame))
        case 5: return try isReceived(FuzzedTransfer.awaited().receive(frame) { _ in })
        case 6:
            let sealed = try FuzzedTransfer.sealed(frame.bytes)
            return try isReceived(FuzzedTransfer.awaited().receive(sealed) { _ in })
        default: return try isConfirmed(FuzzedTransfer.sentBatch().receive(frame))
        }
    } catch let failure as TransferFailure {
        try isExplained(failure)
        return false
    }
}

private func isHeld(_ holds: Bool, _ rule: String) throws -> Bool {
    try invariant(holds, rule)
    return true
}

func isExplained(_ failure: TransferFailure) throws {
    let text = failure.sentence
    try invariant(text.utf8.count <= 1000 && text.contains("; "), "a sentence is short and has a remedy")
    try invariant(!text.unicodeScalars.contains { $0.value < 0x20 }, "a sentence is one line")
    let isRefused = failure.code == "transfer-refused"
    try invariant(isRefused == (failure.refusal == nil), "the other side is told, unless it refused")
}

private func isGreeting(_ peer: TransferPeer) throws -> Bool {
    let name = peer.name.unquoted
    let isShort = name.unicodeScalars.count <= SafeText.maximumLength && !name.contains("\"")
    return try isHeld(isShort && (peer.vault?.utf8.count ?? 4) == 4, "a greeting is cleaned")
}

private func isOffer(_ offer: TransferOffer) throws -> Bool {
    guard case .passkeys(let list, _, _) = offer else { return try isHeld(false, "passkeys are offered") }
    _ = try isHeld((1...TransferOffer.maximumCount).contains(list.count), "an offer is bounded")
    return try isHeld(TransferOffer(offer.frame(), for: .give) == offer, "an offer is written as it was read")
}

private func isBatch(_ batch: SentBatch) throws -> Bool {
    let offered = FuzzedTransfer.passkeys.map(\.id)
    let isChosen = batch.passkeys.allSatisfy { offered.contains($0.id) } && batch.acceptedCount <= offered.count
    return try isHeld(isChosen && !batch.passkeys.isEmpty, "only passkeys that were offered are sent")
}

private func isReceived(_ batch: ReceivedBatch) throws -> Bool {
    let offered = FuzzedTransfer.passkeys.map { OfferedPasskey($0) }
    let isAccepted = batch.file.passkeys.allSatisfy { offered.contains(OfferedPasskey($0)) }
    _ = try isHeld(isAccepted && Set(batch.file.passkeys.map(\.id)).count <= offered.count, "only accepted ones arrive")
    return batch.file.count > 0
}

private func isConfirmed(_ batch: ConfirmedBatch) throws -> Bool {
    let count = batch.stored.count + batch.notStored.count
    return try isHeld(count == FuzzedTransfer.passkeys.count, "each passkey is stored or not")
}

/// The stages of one transfer with fixed keys.
enum FuzzedTransfer {
    static let hash = HandshakeHash(checked: [UInt8](repeating: 5, count: 32))
    private static let vaults = (
        TransferVault(fingerprint: "12345", id: [UInt8](repeating: 1, count: 16)),
        TransferVault(fingerprint: "67890", id: [UInt8](repeating: 2, count: 16))
    )
    private static let key = RequestKey(checked: [UInt8](repeating: 6, count: 32))
    static let giver = TransferGiver(
        purpose: .give,
        name: "Bob",
        vault: vaults.0,
        nonce: TransferNonce(checked: [UInt8](repeating: 3, count: 32))
    )
    static let receiver = TransferReceiver(
        name: "Ada",
        vault: vaults.1,
        nonce: TransferNonce(checked: [UInt8](repeating: 4, count: 32))
    )
    static let passkeys: [ExchangedPasskey] = [1, 2].compactMap { (number: UInt8) in
        guard let id = CredentialID(bytes: [number]), let handle = UserHandle(bytes: [9]),
            let party = RelyingPartyID("example.com"),
            let key = try? P256.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: number, count: 32))
        else { return nil }
        return ExchangedPasskey(
            passkey: Passkey(
                id: id,
                relyingParty: party,
                user: UserEntity(id: handle, name: "ada", displayName: ""),
                privateKey: key,
                isBackupEligible: true
            ),
            created: 1_700_000_000,
            otherSecret: nil,
            foreign: ForeignExtensions(),
            rest: nil
        )
    }

    private static let ownRequest = ExportRequest(for: key)
    // Made once, because keys and sealed payloads for each input would take most of the time.
    private static let receiverGreeting = made { () throws(TransferFailure) in
        try giver.receive(receiver.frame, hash: hash)
    }
    private static let giverGreeting = made { () throws(TransferFailure) in
        try receiver.receive(greetedReceiver().frame, hash: hash)
    }
    private static let offer = made { () throws(TransferFailure) in
        let compared = try greetedReceiver().receive(greetedGiver().frame)
        return try compared.answer(.agreed).offer(passkeys, isMove: false, time: 1_800_000_000)
    }
    private static let acceptance = made { () throws(TransferFailure) in
        try greetedGiver().receive(sentOffer().frame).answer(.agreed, which: nil, key: key)
    }
    private static let batch = made { () throws(TransferFailure) in try sentOffer().receive(awaited().frame) }

    private static func made<Stage>(
        _ stage: () throws(TransferFailure) -> Stage
    ) -> Result<Stage, TransferFailure> {
        Result(catching: stage)
    }

    static func greetedReceiver() throws(TransferFailure) -> GreetedReceiver { try receiverGreeting.get() }

    static func greetedGiver() throws(TransferFailure) -> GreetedGiver { try giverGreeting.get() }

    static func sentOffer() throws(TransferFailure) -> SentOffer { try offer.get() }

    static func awaited() throws(TransferFailure) -> AwaitedItems { try acceptance.get() }

    static func sentBatch() throws(TransferFailure) -> SentBatch { try batch.get() }

    /// Returns the message with a payload.
    static func sealed(_ payload: [UInt8]) throws(TransferFailure) -> TransferFrame {
        let place = PayloadPlace(index: 0, isLast: true)
        let bytes = payload.withUnsafeBytes { SecretBytes(copying: $0) }
        let sealing = try sentOffer().sealing
        return try sealing.seal(UnsafeRawBufferPointer(bytes.memory), at: place, for: ownRequest).frame()
    }
}
