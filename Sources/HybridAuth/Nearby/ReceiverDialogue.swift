// SPDX-License-Identifier: Apache-2.0

internal import HybridAuthenticator
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridCredentialExchange
internal import HybridPrimitives
internal import HybridSession
internal import HybridThreads
internal import HybridTransfer
internal import HybridVault

/// The result of a transfer on the receiver's side.
struct ReceiptResult: Sendable {
    let peer: String
    var added = 0
    var present: [PasskeyLabel] = []
    var different: [PasskeyLabel] = []
    /// Passkeys that this vault cannot hold, each with the reason.
    var unusable: [(passkey: PasskeyLabel, why: SkippedCredential)] = []

    /// Adds what became of passkeys.
    mutating func add(_ received: ReceivedPasskeys, of file: ExchangeFile) {
        added += received.added
        present += received.present
        different += received.different
        unusable += file.skippedPasskeys.map { ($0.passkey, $0.why) }
    }

    /// The members for programs.
    var members: [(String, JSONText)] {
        [
            ("from", .string(peer)), ("added", .number(added)),
            ("present", .array(present.map { .object(ImportJSON.members(of: $0)) })),
            ("different", .array(different.map { .object(ImportJSON.members(of: $0)) })),
            (
                "leftOut",
                .array(
                    unusable.map { passkey, why in
                        .object(ImportJSON.members(of: passkey) + [("reason", .string(why.reason))])
                    }
                )
            ),
        ]
    }

    /// Reports what became of the passkeys.
    func report(_ progress: TransferProgress) {
        for label in different.prefix(NearbyText.maximumLines) {
            progress.notify("different", "kept as it is: \(Self.words(label)), which has a different key here")
        }
        for (label, why) in unusable.prefix(NearbyText.maximumLines) {
            progress.notify("left-out", "left out: \(Self.words(label)) \(why.reason)")
        }
        var counts = ["received \(PasskeyText.count(added)) from \(SafeText(quoting: peer))"]
        if !present.isEmpty { counts.append("\(present.count) here already") }
        if !different.isEmpty { counts.append("\(different.count) here with a different key") }
        if !unusable.isEmpty { counts.append("\(unusable.count) left out") }
        let backup = added > 0 ? "; no backup has them yet: hybrid-auth vault backup" : ""
        progress.report.end(ProgressState("done", counts.joined(separator: ", ") + backup))
    }

    private static func words(_ label: PasskeyLabel) -> String {
        let site = label.site.map { "a passkey for \(SafeText(quoting: $0))" } ?? "a passkey without a site"
        return label.account.map { "\(site) (account \(SafeText(quoting: $0)))" } ?? site
    }
}

/// The receiver's side of a transfer: what the user of this device is asked, and what becomes of the vault.
///
/// Nothing is stored before the user has compared the digits, seen the list and unlocked the vault.
struct ReceiverDialogue: Sendable {
    let name: String
    let prompts: VaultPrompts
    let progress: TransferProgress
    /// True under a virtual radio.
    let isVirtual: Bool
    /// Shows the digits in other places.
    let showDigits: @Sendable (TransferDigits) -> Void

    private var warning: String { isVirtual ? "\n\nVIRTUAL RADIO: no proximity proof" : "" }

    /// Greets the giver and waits for its offer.
    private func offer(_ receiver: TransferReceiver, over channel: TransferChannel) async throws -> ReceivedOffer {
        try await channel.send(receiver.frame)
        let hello = try await channel.receive(within: TransferChannel.promptly)
        let greeted = try receiver.receive(hello, hash: channel.handshakeHash)
        try await channel.send(greeted.frame)
        progress.show(greeted.digits, greeted.giver)
        showDigits(greeted.digits)
        return try greeted.receive(try await channel.receive(within: TransferChannel.unhurried))
    }

    /// Receives passkeys into a vault.
    func receive(into vault: Vault, over channel: TransferChannel) async throws -> ReceiptResult {
        try await channel.explainingEnd(isReceiver: true) {
            let receiver = TransferReceiver(name: name, vault: TransferVault(vault))
            let offer = try await offer(receiver, over: channel)
            guard case .passkeys(let passkeys, _, let isMove) = offer.content else { throw TransferFailure.failed }
            let items = NearbyText.items(passkeys)
            progress.show(items, "offered by \(offer.giver.name):")
            let question = question(offer, items, isMove)
            let unlocked = try await channel.whileConnected { [prompts, progress] in
                try await prompts.confirm(question, ok: "Receive", timeout: VaultQuestions.longLimit)
                return try await prompts.unlock(vault, to: .receive, showing: AnswerProgress(progress.report))
            }
            return try await withCleanup {
                await unlocked.lock()
            } of: {
                let awaited = try offer.answer(.agreed)
                try await channel.send(awaited.frame)
                return try await store(awaited, from: offer.giver, of: passkeys.count, in: unlocked, over: channel)
            }
        }
    }

    private func question(_ offer: ReceivedOffer, _ items: [NearbyText.Item], _ isMove: Bool) -> String {
        let what = "Add \(PasskeyText.count(items.count)) to this vault, from"
        let effect = isMove ? "\n\nThey are deleted there." : ""
        return NearbyText.comparison(offer.digits, offer.giver, to: what)
            + "\n\n\(NearbyText.promptList(items))\(effect)\(warning)"
    }

    /// Stores each batch durably before it is confirmed.
    private func store(
        _ awaited: AwaitedItems,
        from giver: TransferPeer,
        of total: Int,
        in unlocked: UnlockedVault,
        over channel: TransferChannel
    ) async throws -> ReceiptResult {
        var result = ReceiptResult(peer: giver.plainName)
        var arrived = 0
        let first = try await channel.receive(within: TransferChannel.promptly)
        var batch = try awaited.receive(first, checking: Vault.check)
        while true {
            let received = try await unlocked.receive(batch.file, from: giver.plainName)
            result.add(received, of: batch.file)
            arrived += batch.file.count
            progress.notify(historyFailure: received.historyFailure)
            let stored = batch.stored(received.stored)
            progress.stored(arrived, of: total)
            guard !stored.isLast else {
                await end {
                    try await channel.send(stored.frame)
                    try stored.receiveDone(try await channel.receive(within: TransferChannel.promptly))
                }
                return result
            }
            do {
                try await channel.send(stored.frame)
                let next = try await channel.receive(within: TransferChannel.promptly)
                batch = try stored.receive(next, checking: Vault.check)
            } catch {
                progress.notify(
                    "partly-received",
                    "\(PasskeyText.count(arrived)) arrived and stay here; receive again for the rest",
                    [("arrived", "\(arrived)")]
                )
                throw error
            }
        }
    }

    /// Receives the end of the transfer, whose failure changes nothing: everything is stored.
    private func end(_ receive: () async throws -> Void) async {
        do {
            try await receive()
        } catch {
            progress.notify(
                "not-confirmed",
                "the other device left before it knew that everything arrived; giving again there changes nothing here"
            )
        }
    }

    /// Receives the key of a vault, and sets a PIN for it on this device.
    ///
    /// - Returns: The key, and the name of the other device.
    func join(
        at location: VaultLocation,
        over channel: TransferChannel
    ) async throws -> (material: VaultKeyMaterial, peer: String) {
        try await channel.explainingEnd(isReceiver: true) {
            let offer = try await offer(TransferReceiver(joiningAs: name), over: channel)
            guard case .vault(let fingerprint, let count) = offer.content else { throw TransferFailure.failed }
            let question =
                NearbyText.comparison(offer.digits, offer.giver, to: "Join the vault of") + "\n\nIt has "
                + "\(PasskeyText.count(count)) and this key, which the other screen shows, too:\n\n"
                + "\(SafeText(quoting: fingerprint).unquoted)\(warning)"
            let pin = try await channel.whileConnected { [prompts] in
                try await prompts.confirm(question, ok: "Join", timeout: VaultQuestions.longLimit)
                return try await prompts.askNewPIN(for: location.directory)
            }
            let awaited = try offer.answer(.agreed)
            try await channel.send(awaited.frame)
            let received = try awaited.receiveVault(try await channel.receive(within: TransferChannel.promptly))
            let bytes = received.material.withUnsafeBytes { SecretBytes(copying: $0) }
            guard let material = VaultKeyMaterial(bytes), "\(material.fingerprint)" == fingerprint else {
                throw TransferFailure.malformed("what opens the vault is damaged")
            }
            guard material.isTest == isVirtual else {
                throw material.isTest ? VaultError.testVaultNeedsVirtualRadio : .realVaultRefusesVirtualRadio
            }
            try await Vault.join(with: material, at: location, pin: pin)
            await end {
                try await channel.send(received.frame)
                try received.receiveDone(try await channel.receive(within: TransferChannel.promptly))
            }
            return (material, offer.giver.plainName)
        }
    }
}
