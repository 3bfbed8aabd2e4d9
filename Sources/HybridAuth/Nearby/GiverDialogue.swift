// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridCredentialExchange
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridThreads
internal import HybridTransfer
internal import HybridVault

/// The passkeys that a command names, before the vault is open.
struct GiftWish: Sendable {
    /// Beginnings of IDs and sites; empty to choose from a list, or for all.
    let names: [String]
    let isAll: Bool
    /// True to delete the passkeys here as soon as the other side has them.
    let isMove: Bool
    /// True to give SSH keys and passkeys of one device, too.
    let isComplete: Bool

    /// Returns the passkeys to give.
    ///
    /// - Parameter choose: Returns the passkeys that the user chooses from those that may be given.
    func choice(
        from passkeys: [PasskeySummary],
        choosing choose: ([PasskeySummary]) async throws -> [PasskeySummary]
    ) async throws -> GiftChoice {
        guard !isAll else { return GiftChoice(passkeys, givingAll: isComplete) }
        guard names.isEmpty else {
            return GiftChoice(try GiftChoice.named(names, in: passkeys), givingAll: isComplete)
        }
        let possible = GiftChoice(passkeys, givingAll: isComplete)
        return GiftChoice(try await choose(possible.given), givingAll: isComplete)
    }
}

/// The result of a transfer on the giver's side.
struct GiftResult: Sendable {
    let peer: String
    /// Number of passkeys that the other side has now.
    var given = 0
    /// Number of passkeys that were deleted here.
    var deleted = 0
    /// Passkeys that the other side does not have.
    var notStored: [PasskeyLabel] = []
    let withheld: JSONText
}

/// The giver's side of a transfer: what the user of this device is asked, and what becomes of the vault.
///
/// Nothing about a site leaves this device before the user has compared the digits, unlocked the vault and agreed to the list.
struct GiverDialogue: Sendable {
    let vault: Vault
    let name: String
    let prompts: VaultPrompts
    let progress: TransferProgress
    /// True under a virtual radio.
    let isVirtual: Bool

    /// Compares the digits with the user, and runs `body` with the unlocked vault.
    private func approved<Outcome: Sendable>(
        _ purpose: TransferPurpose,
        over channel: TransferChannel,
        _ body: (ApprovedTransfer, TransferPeer, UnlockedVault) async throws -> Outcome
    ) async throws -> Outcome {
        let giver = TransferGiver(purpose: purpose, name: name, vault: TransferVault(vault))
        let hello = try await channel.receive(within: TransferChannel.promptly)
        let greeted = try giver.receive(hello, hash: channel.handshakeHash)
        try await channel.send(greeted.frame)
        let compared = try greeted.receive(try await channel.receive(within: TransferChannel.promptly))
        let (digits, peer) = (compared.digits, compared.receiver)
        progress.show(digits, peer)
        let action = purpose == .give ? "Give passkeys to" : "Let this device join the vault"
        let warning = isVirtual ? "\n\nVIRTUAL RADIO: no proximity proof" : ""
        let question = NearbyText.comparison(digits, peer, to: action) + warning
        do {
            try await channel.whileConnected { [prompts] in
                try await prompts.confirm(question, ok: "They are the same", timeout: VaultQuestions.longLimit)
            }
        } catch let failure as CommandFailure where failure.code == VaultQuestions.declined.code {
            throw TransferFailure.digitsDiffer
        }
        let unlocked = try await channel.whileConnected { [prompts, vault, progress] in
            // The key opens the vault forever, so a finger does not suffice to hand it over.
            guard purpose == .give else { return try await prompts.unlock(vault, to: .handOver).vault }
            return try await prompts.unlock(vault, to: .give, showing: AnswerProgress(progress.report))
        }
        return try await withCleanup {
            await unlocked.lock()
        } of: {
            try await body(try compared.answer(.agreed), peer, unlocked)
        }
    }

    /// Gives passkeys.
    func give(_ wish: GiftWish, over channel: TransferChannel) async throws -> GiftResult {
        try await channel.explainingEnd(isReceiver: false) {
            try await approved(.give, over: channel) { approved, peer, unlocked in
                let (choice, gift) = try await chosen(wish, for: peer, from: unlocked, over: channel)
                let offer = try approved.offer(
                    gift.passkeys,
                    isMove: wish.isMove,
                    time: WallClock.realtime.now()
                )
                try await channel.send(offer.frame)
                progress.enter("offered", "waiting for the user of \(peer.name)")
                var result = GiftResult(peer: peer.plainName, withheld: choice.withheldJSON)
                do {
                    try await send(gift, offer, moving: wish.isMove, from: unlocked, over: channel, &result)
                } catch {
                    if result.given > 0 {
                        progress.notify(
                            "partly-given",
                            "\(peer.name) has \(PasskeyText.count(result.given)) already; give again for the rest",
                            [("given", "\(result.given)"), ("deleted", "\(result.deleted)")]
                        )
                    }
                    throw error
                }
                return result
            }
        }
    }

    /// Asks which passkeys are given, and whether they are.
    private func chosen(
        _ wish: GiftWish,
        for peer: TransferPeer,
        from unlocked: UnlockedVault,
        over channel: TransferChannel
    ) async throws -> (GiftChoice, PasskeyGift) {
        let choice = try await wish.choice(from: try await unlocked.summaries()) { passkeys in
            try await channel.whileConnected { try await GiftList(passkeys).ask() }
        }
        for line in choice.withheldLines { progress.notify("left-out", line) }
        guard !choice.given.isEmpty else { throw TransferFailure.nothingToGive }
        let items = NearbyText.items(choice.given)
        progress.show(items, "to be \(wish.isMove ? "moved" : "given") to \(peer.name):")
        try await channel.whileConnected { [prompts] in
            let question = Self.question(items, wish, peer)
            try await prompts.confirm(question, ok: wish.isMove ? "Move" : "Give", timeout: VaultQuestions.longLimit)
        }
        return (choice, try await unlocked.gift(of: Set(choice.given.map(\.record))))
    }

    private static func question(_ items: [NearbyText.Item], _ wish: GiftWish, _ peer: TransferPeer) -> String {
        let count = PasskeyText.count(items.count)
        let what = wish.isMove ? "Move \(count) to" : "Give \(count) to"
        let effect =
            wish.isMove
            ? "Each is deleted from this vault, on all its devices, as soon as the other one has it."
            : "The person who has that device can then sign in as you."
        return "\(what)\n\(peer.name)\n\n\(NearbyText.promptList(items))\n\n\(effect)"
    }

    /// Sends all batches; each is recorded here when the other side has stored it.
    private func send(
        _ gift: PasskeyGift,
        _ offer: SentOffer,
        moving isMove: Bool,
        from unlocked: UnlockedVault,
        over channel: TransferChannel,
        _ result: inout GiftResult
    ) async throws {
        var batch = try offer.receive(try await channel.receive(within: TransferChannel.unhurried))
        let total = batch.acceptedCount
        while true {
            try await channel.send(batch.frame)
            let confirmed = try batch.receive(try await channel.receive(within: TransferChannel.promptly))
            let ids = confirmed.stored.map(\.id)
            result.given += ids.count
            result.notStored += confirmed.notStored.map(\.label)
            let given = try await unlocked.given(ids, of: gift, to: result.peer, moving: isMove)
            result.deleted += given.deleted
            if !given.changed.isEmpty {
                let count = PasskeyText.count(given.changed.count)
                progress.notify("changed", "changed here during the transfer and not deleted: \(count); move again")
            }
            progress.notify(historyFailure: given.historyFailure)
            progress.stored(result.given, of: total)
            guard let next = try confirmed.next() else {
                try? await channel.send(confirmed.doneFrame)
                return
            }
            batch = next
        }
    }

    /// Hands over the key of the vault.
    func handOver(over channel: TransferChannel) async throws -> (peer: String, fingerprint: String) {
        try await channel.explainingEnd(isReceiver: false) {
            try await approved(.join, over: channel) { approved, peer, unlocked in
                let material = try await unlocked.keyMaterial()
                let fingerprint = "\(material.fingerprint)"
                try await channel.whileConnected { [prompts] in
                    try await prompts.confirm(
                        "Let this device join the vault?\n\(peer.name)\n\nIt gets all passkeys of this vault, also new ones, "
                            + "and can change and delete them. Its user must see this key:\n\n\(fingerprint)",
                        ok: "Let it join"
                    )
                }
                let bytes = material.bytes.flatMap { VaultMaterial(copying: UnsafeRawBufferPointer($0.memory)) }
                guard let bytes else { throw TransferFailure.failed }
                let offer = try approved.offer(vaultKey: bytes, fingerprint: fingerprint, passkeys: material.count)
                try await channel.send(offer.frame)
                progress.enter("offered", "waiting for the user of \(peer.name)")
                let sent = try offer.receive(try await channel.receive(within: TransferChannel.unhurried))
                try await channel.send(sent.frame)
                try sent.receive(try await channel.receive(within: TransferChannel.promptly))
                try? await channel.send(sent.doneFrame)
                return (peer.plainName, fingerprint)
            }
        }
    }
}

extension TransferVault {
    /// Describes a vault for the other side, which learns whether it has the same one.
    init(_ vault: Vault) {
        // Zeros for a vault that this version has never opened; its digits only inform the other side.
        let fingerprint = vault.knownFingerprint.map { "\($0)" } ?? "0000"
        self.init(fingerprint: fingerprint, id: Hex.decode(vault.id, length: 16) ?? [])
    }
}
