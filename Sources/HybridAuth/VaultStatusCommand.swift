// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridVault

/// `vault status`: what can be told without any secret.
struct VaultStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Tell where the vault is and what opens it; asks for nothing."
    )

    static let opensNowhereElse =
        "without a passphrase or a recovery code it can't be opened elsewhere, and is lost with this device; add one: "
        + "hybrid-auth vault recovery-code"

    @OptionGroup var place: VaultLocationOptions

    @Flag(help: "One JSON object on standard output.")
    var json = false

    func run() async throws {
        let status: VaultStatus
        do {
            status = try Vault.status(directory: place.directory(), stateDirectory: place.stateDirectory())
        } catch let error as VaultError {
            throw CommandFailure(error.sentence, status: error.statusOfReading)
        }
        let text = json ? Self.object(status) : Self.table(status)
        guard Self.write(text + "\n") else {
            throw CommandFailure("standard output can't be written; free some space", status: .ioError)
        }
        for note in status.notes { say("left alone: \(note.path): \(note.reason)") }
        if !status.opensElsewhere { say(Self.opensNowhereElse) }
    }

    private static func table(_ status: VaultStatus) -> String {
        var rows = [
            ("vault", status.path), ("id", status.id), ("kind", status.isTest ? "test (virtual radio)" : "real"),
            ("records", "\(status.records)"), ("passphrases", "\(status.passphrases)"),
            ("recovery codes", "\(status.recoveryCodes)"), ("PIN here", status.hasPIN ? "yes" : "no"),
            ("wrong PINs", "\(status.wrongPINs)"),
        ]
        if status.waitSeconds > 0 { rows.append(("wait", "\(status.waitSeconds) s")) }
        rows.append(("last backup", status.lastBackup.map(LocalTime.text) ?? "none from this device"))
        if status.isRekeying { rows.append(("rekeying", "was cut short; the next PIN finishes it")) }
        return rows.map { name, value in name + String(repeating: " ", count: 16 - name.count) + value }
            .joined(separator: "\n")
    }

    private static func object(_ status: VaultStatus) -> String {
        let members: [(String, String)] = [
            ("path", quoted(status.path)), ("id", quoted(status.id)), ("test", "\(status.isTest)"),
            ("records", "\(status.records)"), ("passphrases", "\(status.passphrases)"),
            ("recoveryCodes", "\(status.recoveryCodes)"), ("opensElsewhere", "\(status.opensElsewhere)"),
            ("pin", "\(status.hasPIN)"), ("wrongPINs", "\(status.wrongPINs)"), ("waitSeconds", "\(status.waitSeconds)"),
            ("lastBackup", status.lastBackup.map { "\($0)" } ?? "null"), ("rekeying", "\(status.isRekeying)"),
        ]
        return "{" + members.map { "\(quoted($0)):\($1)" }.joined(separator: ",") + "}"
    }

    /// A JSON string (RFC 8259 §7).
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{0}"..."\u{1F}", "\u{7F}":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    private static func write(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
