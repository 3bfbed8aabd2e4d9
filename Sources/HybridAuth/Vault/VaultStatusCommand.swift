// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridVault

/// `vault status`: shows what can be read without a secret.
struct VaultStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the vault's location and secrets, without a prompt."
    )

    static let opensNowhereElse =
        "without a passphrase or a recovery code it can't be opened elsewhere, and is lost with this device; add one: "
        + "hybrid-auth vault recovery-code"

    @OptionGroup var options: VaultLocationOptions

    @Flag(help: "One JSON object on standard output.")
    var json = false

    func run() async throws {
        let status = try options.opening(Vault.status)
        try StandardOutput.writeLine(json ? Self.object(status).description : Self.table(status))
        report(status.warnings)
        if !status.opensElsewhere { report(Self.opensNowhereElse) }
    }

    private static func table(_ status: VaultStatus) -> String {
        var rows = [
            ("vault", status.path), ("id", status.id), ("kind", status.isTest ? "test (virtual radio)" : "real"),
            ("key", key(status)),
            ("records", "\(status.records)"), ("passphrases", "\(status.passphrases)"),
            ("recovery codes", "\(status.recoveryCodes)"), ("PIN here", VaultTPMStatus.text(status.pinProtection)),
            ("wrong PINs", "\(status.wrongPINs)"),
        ]
        if status.waitSeconds > 0 { rows.append(("wait", "\(status.waitSeconds) s")) }
        rows.append(("last backup", status.lastBackup.map(LocalTime.text) ?? "none from this device"))
        if status.isRekeying { rows.append(("rekeying", "interrupted; the next unlocking with the PIN finishes it")) }
        return rows.map { name, value in name + String(repeating: " ", count: 16 - name.count) + value }
            .joined(separator: "\n")
    }

    private static func key(_ status: VaultStatus) -> String {
        if let fingerprint = status.keyFingerprint { return "\(fingerprint)" }
        return status.isRekeyedElsewhere
            ? "replaced by another device; use a secret from there: hybrid-auth vault change-pin --forgotten"
            : "unknown until the vault is opened here"
    }

    private static func object(_ status: VaultStatus) -> JSONText {
        let members: [(String, JSONText)] = [
            ("path", .string(status.path)), ("id", .string(status.id)), ("test", .boolean(status.isTest)),
            ("key", status.keyFingerprint.map { .string("\($0)") } ?? .null),
            ("records", .number(status.records)), ("passphrases", .number(status.passphrases)),
            ("recoveryCodes", .number(status.recoveryCodes)), ("opensElsewhere", .boolean(status.opensElsewhere)),
            ("pin", .boolean(status.hasPIN)), ("tpm", .boolean(status.pinProtection == .tpm)),
            ("wrongPINs", .number(status.wrongPINs)),
            ("waitSeconds", .number(status.waitSeconds)),
            ("lastBackup", status.lastBackup.map { .number(Int(clamping: $0)) } ?? .null),
            ("rekeying", .boolean(status.isRekeying)), ("rekeyedElsewhere", .boolean(status.isRekeyedElsewhere)),
        ]
        return .object(members)
    }
}
