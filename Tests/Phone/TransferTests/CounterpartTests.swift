// SPDX-License-Identifier: Apache-2.0

import Glibc
import HybridAuthenticator
import HybridCTAP
import HybridCaBLE
import HybridCredentialExchange
import HybridPrimitives
import TestSupport
import Testing

@testable import HybridTransfer

@Suite("A transfer with the counterpart in Python")
struct TransferCounterpartTests {
    private let session = Session()

    // MARK: - A receiver here

    /// Receives all that a giver in Python gives; returns the passkeys and what the giver reports.
    private func receive(_ options: [String]) async throws -> ([ExchangedPasskey], String) {
        let peer = try CounterpartLines("give", hash: session.hash, options)
        var passkeys: [ExchangedPasskey] = []
        do {
            try await peer.send(session.receiver.frame)
            let greeted = try session.receiver.receive(try await peer.next(), hash: session.hash)
            try await peer.send(greeted.frame)
            let digits = try await peer.report { $0.contains("digits") }
            #expect(digits.contains(greeted.digits.description))
            let awaited = try greeted.receive(try await peer.next()).answer(.agreed)
            try await peer.send(awaited.frame)
            var batch = try awaited.receive(try await peer.next(), checking: Session.takeAll)
            while true {
                for passkey in batch.file.passkeys where !passkeys.contains(where: { $0.id == passkey.id }) {
                    passkeys.append(passkey)
                }
                let stored = batch.stored(Set(batch.file.passkeys.map(\.id)))
                try await peer.send(stored.frame)
                if stored.isLast {
                    try stored.receiveDone(try await peer.next())
                    break
                }
                batch = try stored.receive(try await peer.next(), checking: Session.takeAll)
            }
        } catch let failure as TransferFailure {
            if let refusal = failure.refusal { try await peer.send(refusal.frame) }
            try await peer.end()
            return (passkeys, "\(failure.code) \(try await peer.ending())")
        }
        return (passkeys, try await peer.ending())
    }

    @Test("receives passkeys, in one batch and in several", arguments: [1, 150])
    func receiving(count: Int) async throws {
        let (passkeys, report) = try await receive(["--new", "\(count)"])
        #expect(passkeys.count == count)
        #expect(passkeys.allSatisfy { $0.passkey.relyingParty.text == "example.com" && $0.created == 1_700_000_000 })
        #expect(report.contains("\"done\"") && report.contains(Base64URL.encode(passkeys[0].id.credential.bytes)))
    }

    @Test(
        "refuses a giver that breaks a rule",
        arguments: [
            ("other-passkey", "transfer-malformed"), ("malformed-cxf", "transfer-malformed"),
            ("too-many", "transfer-malformed"), ("oversized", "transfer-malformed"),
            ("long-payload", "transfer-malformed"),
            ("early-offer", "transfer-malformed"), ("wrong-index", "transfer-malformed"),
            ("wrong-last", "transfer-manipulated"), ("other-binding", "transfer-manipulated"),
            ("endless", "transfer-malformed"), ("other-version", "transfer-version"),
            ("early-done", "transfer-malformed"),
            ("malformed", "transfer-malformed"), ("refuse-declined", "transfer-refused"),
        ]
    )
    func hostileGiver(fault: String, code: String) async throws {
        let (passkeys, report) = try await receive(["--new", "65", "--fault", fault])
        #expect(report.hasPrefix(code + " "), "\(report)")
        #expect(passkeys.count <= 65 && !passkeys.contains { $0.passkey.relyingParty.text == "bank.example" })
    }

    @Test("takes a passkey that comes twice once", arguments: ["doubled-item", "repeated-batch"])
    func doubled(fault: String) async throws {
        let (passkeys, _) = try await receive(["--new", "3", "--fault", fault])
        #expect(passkeys.count == 3)
    }

    // MARK: - A giver here

    /// Gives passkeys to a receiver in Python; returns those that it confirmed, and what it reports.
    private func give(
        _ passkeys: [ExchangedPasskey],
        _ options: [String] = []
    ) async throws -> ([ExchangedPasskey], String) {
        let peer = try CounterpartLines("receive", hash: session.hash, options)
        var confirmed: [ExchangedPasskey] = []
        do {
            let greeted = try session.giver.receive(try await peer.next(), hash: session.hash)
            try await peer.send(greeted.frame)
            let compared = try greeted.receive(try await peer.next())
            let digits = try await peer.report { $0.contains("digits") }
            #expect(digits.contains(compared.digits.description))
            let offer = try compared.answer(.agreed).offer(passkeys, isMove: true, time: 1_800_000_000)
            try await peer.send(offer.frame)
            var batch = try offer.receive(try await peer.next())
            while true {
                try await peer.send(batch.frame)
                let answer = try batch.receive(try await peer.next())
                confirmed += answer.stored
                guard let next = try answer.next() else {
                    try await peer.send(answer.doneFrame)
                    break
                }
                batch = next
            }
        } catch let failure as TransferFailure {
            if let refusal = failure.refusal { try await peer.send(refusal.frame) }
            try await peer.end()
            return (confirmed, "\(failure.code) \(try await peer.ending())")
        }
        return (confirmed, try await peer.ending())
    }

    @Test("gives passkeys, in one batch and in several", arguments: [1, 150])
    func giving(count: Int) async throws {
        let passkeys = try (0..<count).map { try passkey($0) }
        let (confirmed, report) = try await give(passkeys)
        #expect(confirmed.map(\.id) == passkeys.map(\.id))
        #expect(report.contains("\"done\"") && report.contains("\"move\": true"))
    }

    @Test("gives only those that are accepted")
    func some() async throws {
        let passkeys = try (0..<4).map { try passkey($0) }
        let (confirmed, _) = try await give(passkeys, ["--which", "1,3"])
        #expect(confirmed.map(\.id) == [passkeys[1].id, passkeys[3].id])
    }

    @Test(
        "removes nothing for a receiver that breaks a rule",
        arguments: [
            ("wrong-sha", "transfer-unconfirmed"), ("wrong-id", "transfer-unconfirmed"),
            ("doubled-id", "transfer-unconfirmed"), ("wrong-commitment", "transfer-manipulated"),
            ("wrong-nonce", "transfer-manipulated"), ("other-version", "transfer-version"),
            ("other-purpose", "transfer-purpose"), ("malformed", "transfer-malformed"),
            ("oversized", "transfer-malformed"),
            ("early-accept", "transfer-malformed"), ("unoffered", "transfer-malformed"),
            ("low-order-key", "transfer-malformed"),
            ("other-suite", "transfer-malformed"), ("refuse-full", "transfer-refused"),
            ("refuse-digits", "transfer-refused"),
        ]
    )
    func hostileReceiver(fault: String, code: String) async throws {
        let (confirmed, report) = try await give([passkey(1), passkey(2)], ["--fault", fault])
        #expect(report.hasPrefix(code + " "), "\(report)")
        #expect(confirmed.isEmpty)
    }

    @Test("keeps passkeys that a receiver does not confirm")
    func unconfirmed() async throws {
        let (confirmed, report) = try await give([passkey(1), passkey(2)], ["--fault", "no-ids"])
        #expect(confirmed.isEmpty && report.contains("\"done\""))
    }

    @Test("opens no session with the same vault")
    func sameVault() async throws {
        let id = Hexadecimal.text(Session.giverVault.id)
        let (_, report) = try await give([passkey(1)], ["--vault", id])
        #expect(report.hasPrefix("same-vault "), "\(report)")
    }

    @Test("gives the key of its vault to a device that joins")
    func joining() async throws {
        let session = Session.joining()
        let peer = try CounterpartLines("receive", hash: session.hash, ["--join"])
        let greeted = try session.giver.receive(try await peer.next(), hash: session.hash)
        try await peer.send(greeted.frame)
        let approved = try greeted.receive(try await peer.next()).answer(.agreed)
        let secret: [UInt8] = [1, 2, 3]
        let material = try #require(secret.withUnsafeBytes { VaultMaterial(copying: $0) })
        let offer = try approved.offer(vaultKey: material, fingerprint: "12345 67890", passkeys: 7)
        try await peer.send(offer.frame)
        let sent = try offer.receive(try await peer.next())
        try await peer.send(sent.frame)
        try sent.receive(try await peer.next())
        try await peer.send(sent.doneFrame)
        #expect(try await peer.ending().contains("\"key\": \"010203\""))
    }

    @Test("gets the key of a vault in Python")
    func joined() async throws {
        let session = Session.joining()
        let peer = try CounterpartLines("give", hash: session.hash, ["--join", "--key", "040506"])
        try await peer.send(session.receiver.frame)
        let greeted = try session.receiver.receive(try await peer.next(), hash: session.hash)
        try await peer.send(greeted.frame)
        let awaited = try greeted.receive(try await peer.next()).answer(.agreed)
        try await peer.send(awaited.frame)
        let vault = try awaited.receiveVault(try await peer.next())
        #expect(vault.material.withUnsafeBytes { Array($0) } == [4, 5, 6])
        try await peer.send(vault.frame)
        try vault.receiveDone(try await peer.next())
        #expect(try await peer.ending().contains("\"done\""))
    }
}

/// A receiver or giver in Python whose messages are lines, without a channel.
private final class CounterpartLines {
    private let folder: TestFolder
    private let process: SpawnedProcess
    private let input: Int32
    private var taken = 0

    init(_ role: String, hash: HandshakeHash, _ options: [String]) throws {
        folder = try TestFolder()
        let pipe = folder.path + "/in"
        guard mkfifo(pipe, 0o600) == 0 else { throw TransferFailure.failed }
        // Both directions, because a writer alone would wait for the reader.
        input = open(pipe, O_RDWR | O_CLOEXEC | O_NONBLOCK)
        process = try SpawnedProcess(
            [try Python.path(), PackageFolder.path + "/Tests/Counterparts/transfer.py", role]
                + ["--pipe", Hexadecimal.text(hash.bytes)] + options,
            input: pipe,
            output: folder.path + "/out",
            errors: folder.path + "/err"
        )
    }

    deinit {
        close(input)
        try? folder.remove()
    }

    /// Sends a message.
    func send(_ frame: TransferFrame) async throws { try await write(frame.bytes + [0x0A]) }

    /// Says that no message follows.
    func end() async throws { try await write([0x0A]) }

    private func write(_ bytes: [UInt8]) async throws {
        var rest = bytes[...]
        try await Waiting.until("room in the pipe", evidence: self.text("err")) {
            // A counterpart that has ended reads nothing more.
            if self.process.exitStatus != nil { return true }
            let count = rest.withUnsafeBytes { Glibc.write(self.input, $0.baseAddress, $0.count) }
            rest = rest.dropFirst(max(count, 0))
            return rest.isEmpty
        }
    }

    /// Waits for the next message.
    func next() async throws -> TransferFrame {
        var line: Substring?
        try await Waiting.until("a message", evidence: self.text("err")) {
            try self.read {
                let lines = self.text("out").split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                line = lines.dropFirst(self.taken).first
                return line != nil
            }
        }
        taken += 1
        return TransferFrame(received: Array((line ?? "").utf8))
    }

    /// Waits for a line of the report.
    func report(where matches: (Substring) -> Bool) async throws -> String {
        var found: Substring?
        try await Waiting.until("a line of the report", evidence: self.text("err")) {
            try self.read {
                found = self.text("err").split(separator: "\n").first(where: matches)
                return found != nil
            }
        }
        return String(found ?? "")
    }

    /// Waits for the end, and returns the report.
    func ending() async throws -> String {
        try await Waiting.until("the end", evidence: self.text("err")) { self.process.exitStatus != nil }
        return text("err")
    }

    /// Returns what `find` returns; throws an error if the counterpart had ended before, and it returns false.
    private func read(_ find: () -> Bool) throws -> Bool {
        // First, because the output is complete then.
        let hasEnded = process.exitStatus != nil
        guard !find() else { return true }
        guard !hasEnded else {
            throw RunningProgram.TimedOut(description: "the counterpart ended: \(text("err"))")
        }
        return false
    }

    private func text(_ name: String) -> String { TestFile.text(folder.path + "/" + name) }
}
