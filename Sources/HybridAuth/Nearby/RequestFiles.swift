// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport
internal import HybridCredentialExchange
internal import HybridPrimitives
internal import HybridProgram
internal import HybridTransfer
internal import HybridVault

/// The receiver's side of a transfer by files: a request, and the file that answers it.
struct RequestFiles: Sendable {
    let options: NearbyOptions
    let settings: Configuration
    let prompts: VaultPrompts

    /// Writes a request to a new file, and keeps its key in the local state.
    func write(_ path: String) async throws {
        let check: @Sendable (Vault) throws -> Void = { try $0.checkExport(to: path) }
        let digits = try await withVault(to: .receive, check: check) { unlocked in
            let request = SealedRequest(name: options.deviceName)
            let hash = request.pending.request.bytes
            let secret = request.pending.withUnsafeBytes { RequestSecret(bytes: $0) }
            guard let secret else { throw TransferFailure.failed }
            // The key first: an answer to a request without a key opens nowhere.
            try await unlocked.keep(secret, forRequest: hash)
            _ = try await unlocked.writeNew(request.bytes, to: path)
            return NearbyText.groups(of: hash)
        }
        if options.json { return try options.show([("file", .string(path)), ("digits", .string(digits))]) }
        report("wrote the request to \(path); send it to the person who gives")
        report("hybrid-auth give --for must show them: \(digits)")
    }

    /// Adds the passkeys of a file that answers a request of this device.
    func receive(_ path: String) async throws {
        let progress = TransferProgress(report: options.report())
        let bytes = try readFile(path, atMost: SealedGift.maximumLength)
        let gift = try SealedGift(parsing: bytes)
        let result = try await withVault(to: .receive) { unlocked in
            guard let secret = try await unlocked.secret(ofRequest: gift.request.bytes),
                let pending = secret.withUnsafeBytes({ PendingRequest(bytes: $0) })
            else {
                throw CommandFailure(
                    "\(path) answers no request of this vault on this device; ask for the file with hybrid-auth receive "
                        + "--request here",
                    status: .dataError
                )
            }
            let files = try gift.open(with: pending, checking: Vault.check)
            let passkeys = files.flatMap { $0.passkeys.map(OfferedPasskey.init) }
            let items = NearbyText.items(passkeys)
            progress.show(items, "given by \(gift.name):")
            try await prompts.confirm(
                "Add \(PasskeyText.count(items.count)) to this vault, from\n\(gift.name)\n\n\(NearbyText.promptList(items))",
                ok: "Receive"
            )
            var result = ReceiptResult(peer: gift.name.unquoted)
            for file in files {
                let received = try await unlocked.receive(file, from: gift.name.unquoted)
                result.add(received, of: file)
                progress.notify(historyFailure: received.historyFailure)
            }
            return result
        }
        result.report(progress)
        try options.show(result.members)
    }

    /// Unlocks the vault, real or test, and runs `body`.
    private func withVault<Result: Sendable>(
        to purpose: VaultPurpose,
        check: @escaping @Sendable (Vault) throws -> Void = { _ in },
        _ body: @escaping @Sendable (UnlockedVault) async throws -> Result
    ) async throws -> Result {
        try await prompts.whileUnlocked(options.location(settings), to: purpose, check: check, body)
    }
}

/// The giver's side of a transfer by files.
struct GiftFileWriter: Sendable {
    let options: NearbyOptions
    let settings: Configuration
    let prompts: VaultPrompts

    /// Writes passkeys to a new file that only the author of a request can open.
    func write(_ wish: GiftWish, to path: String, for request: String) async throws {
        let progress = TransferProgress(report: options.report())
        let read = try ReceivedRequest(parsing: try readFile(request, atMost: ReceivedRequest.maximumLength))
        let digits = NearbyText.groups(of: read.hash.bytes)
        let canAsk = !options.json && GiftList.isPossible
        guard wish.isAll || !wish.names.isEmpty || canAsk else {
            throw CommandFailure(
                "there is no terminal to choose passkeys on; name their sites or IDs, or use --all",
                status: .usage
            )
        }
        let location = try options.location(settings)
        let check: @Sendable (Vault) throws -> Void = { try $0.checkExport(to: path) }
        let name = options.deviceName
        let (count, choice) = try await prompts.whileUnlocked(location, to: .give, check: check) {
            [prompts] unlocked in
            let choice = try await wish.choice(from: try await unlocked.summaries()) { try await GiftList($0).ask() }
            for line in choice.withheldLines { progress.notify("left-out", line) }
            guard !choice.given.isEmpty else { throw TransferFailure.nothingToGive }
            let items = NearbyText.items(choice.given)
            progress.show(items, "to be given to \(read.name):")
            progress.notify("digits", "the person who asks must have been shown \(digits)", [("digits", digits)])
            try await prompts.confirm(
                "Give \(PasskeyText.count(items.count)) to\n\(read.name)\n\n\(NearbyText.promptList(items))\n\nThe person who "
                    + "asks must have been shown\n\(digits)\n\nIf they differ, someone else has made the request: cancel.",
                ok: "Give",
                timeout: VaultQuestions.longLimit
            )
            let gift = try await unlocked.gift(of: Set(choice.given.map(\.record)))
            let time = WallClock.realtime.now()
            let bytes = try SealedGift.seal(gift.passkeys, for: read, name: name, time: time)
            _ = try await unlocked.writeNew(bytes, to: path)
            let ids = gift.passkeys.map(\.id)
            let given = try await unlocked.given(ids, of: gift, to: read.name.unquoted, moving: false)
            progress.notify(historyFailure: given.historyFailure)
            return (gift.passkeys.count, choice)
        }
        if options.json {
            return try options.show([
                ("file", .string(path)), ("to", .string(read.name.unquoted)), ("given", .number(count)),
                ("leftOut", choice.withheldJSON),
            ])
        }
        report("wrote \(PasskeyText.count(count)) to \(path), which only \(read.name) can open")
    }
}

/// Reads a file of another person.
private func readFile(_ path: String, atMost limit: Int) throws -> [UInt8] {
    do throws(FileReadError) {
        return try readWholeFile(path, atMost: limit)
    } catch {
        throw CommandFailure("\(path): \(error.sentence)", status: error == .tooLarge ? .dataError : .noInput)
    }
}
