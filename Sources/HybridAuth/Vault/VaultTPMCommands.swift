// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridTPM
internal import HybridThreads
internal import HybridVault

/// `vault tpm`: lets the TPM count wrong PINs.
struct VaultTPMCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tpm",
        abstract: "Let this computer's TPM protect the PIN.",
        discussion: """
            Without a TPM, the PIN can be guessed by anyone who copies the vault and its local state. A TPM counts \
            guesses and refuses more of them for a while. The passphrase and the recovery code do not need it.
            """,
        subcommands: [VaultTPMEnable.self, VaultTPMDisable.self, VaultTPMStatus.self]
    )
}

/// `vault tpm enable`: replaces the PIN slot by one that the TPM protects.
struct VaultTPMEnable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Let the TPM protect the PIN from now on.",
        discussion: "The vault must have a passphrase or a recovery code, so that it is not lost with the TPM."
    )

    @OptionGroup var options: VaultOptions
    @OptionGroup var output: ResultOutput

    func run() async throws {
        let location = try options.location.location()
        let status = try options.location.opening(Vault.status)
        guard status.pinProtection != .tpm else {
            return try output.show(Self.members, "the TPM protects the PIN already; nothing to do")
        }
        guard status.opensElsewhere else { throw VaultError.tpmWouldBeOnlySlot }
        // Before the prompt: without a TPM there is nothing to decide.
        let tpm = try await DedicatedThread.run { () throws(TPMError) in try location.tpm.status() }
        try await options.runUnlocked(to: .tpm) { unlocked in
            try await unlocked.vault.enableTPM(pin: unlocked.pin)
        }
        try output.show(
            Self.members + [("lockoutPassword", .boolean(tpm.isLockoutAuthSet))],
            "the TPM protects the PIN from now on",
            "copies of the old PIN slot, as in a backup, can still be guessed until hybrid-auth vault rekey",
            tpm.isLockoutAuthSet ? nil : VaultTPMStatus.lockoutPasswordEmpty
        )
    }

    private static let members: [(String, JSONText)] = [("tpm", .boolean(true))]
}

/// `vault tpm disable`: replaces the slot by one that works without the TPM.
struct VaultTPMDisable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Stop using the TPM; the PIN stays the same.",
        discussion: "If the TPM can't be used any more, run hybrid-auth vault change-pin --forgotten instead."
    )

    @OptionGroup var options: VaultOptions
    @OptionGroup var output: ResultOutput

    func run() async throws {
        let status = try options.location.opening(Vault.status)
        guard [.tpm, .interrupted].contains(status.pinProtection) else {
            return try output.show(Self.members, "the TPM does not protect the PIN; nothing to do")
        }
        try await options.runUnlocked(to: .tpm, saying: "Stop protecting the PIN of this vault with the TPM") {
            unlocked in
            try await unlocked.vault.disableTPM(pin: unlocked.pin)
        }
        try output.show(
            Self.members,
            "the PIN works without the TPM from now on; copies of this device's files can be guessed"
        )
    }

    private static let members: [(String, JSONText)] = [("tpm", .boolean(false))]
}

/// `vault tpm status`: shows the protection of the PIN and the state of the TPM.
struct VaultTPMStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the TPM and its count of wrong PINs, without a prompt."
    )

    static let lockoutPasswordEmpty =
        "the TPM has no lockout password, so it protects a copied disk, not a stolen computer; tpm2_changeauth -c "
        + "lockout sets one"

    @OptionGroup var options: VaultLocationOptions

    @Flag(help: "One JSON object on standard output.")
    var json = false

    func run() async throws {
        let location = try options.location()
        let protection = try options.opening(Vault.status).pinProtection
        let tpm: Result<TPMStatus, TPMError> = await DedicatedThread.run {
            Result { () throws(TPMError) in try location.tpm.status() }
        }
        try StandardOutput.writeLine(
            json ? Self.object(protection, tpm).description : Self.table(protection, tpm)
        )
        switch tpm {
        case .success(let status):
            if protection == .tpm, !status.isLockoutAuthSet { report(Self.lockoutPasswordEmpty) }
        case .failure(let error): report(error.sentence)
        }
        if protection == .interrupted {
            report("a change was interrupted, and the TPM does not protect the PIN; run enable or disable again")
        }
    }

    /// Returns the protection of the PIN in words.
    static func text(_ protection: PINProtection?) -> String {
        switch protection {
        case .deviceSecret: "yes"
        case .tpm: "yes, protected by the TPM"
        case .interrupted: "yes, not protected by the TPM: a change was interrupted"
        case nil: "no"
        }
    }

    private static func table(_ protection: PINProtection?, _ tpm: Result<TPMStatus, TPMError>) -> String {
        var rows = [("PIN here", text(protection))]
        switch tpm {
        case .failure(let error): rows.append(("TPM", error.cause))
        case .success(let status):
            let lockout = status.lockout
            rows.append(("TPM", "present (\(SafeText(quoting: status.manufacturer)))"))
            rows.append(("wrong PINs", "\(lockout.counter) of \(lockout.maximum), of all programs"))
            rows.append(("forgotten", "one every \(lockout.interval) s"))
            if lockout.minutes > 0 { rows.append(("wait", "\(lockout.minutes) min")) }
            rows.append(("lockout password", status.isLockoutAuthSet ? "set" : "none"))
        }
        return rows.map { name, value in name + String(repeating: " ", count: 18 - name.count) + value }
            .joined(separator: "\n")
    }

    private static func object(_ protection: PINProtection?, _ tpm: Result<TPMStatus, TPMError>) -> JSONText {
        let name: JSONText =
            switch protection {
            case .deviceSecret: .string("device-secret")
            case .tpm: .string("tpm")
            case .interrupted: .string("interrupted")
            case nil: .null
            }
        var members: [(String, JSONText)] = [("protection", name)]
        switch tpm {
        case .failure(let error):
            members.append(("tpm", .null))
            members.append(("error", .object([("code", .string(error.code)), ("sentence", .string(error.sentence))])))
        case .success(let status):
            let tpm: [(String, JSONText)] = [
                ("manufacturer", .string(status.manufacturer)), ("wrong", .number(Int(status.lockout.counter))),
                ("maximum", .number(Int(status.lockout.maximum))),
                ("intervalSeconds", .number(Int(status.lockout.interval))),
                ("lockedOut", .boolean(status.lockout.isLockedOut)),
                ("waitMinutes", .number(status.lockout.minutes)),
                ("lockoutPassword", .boolean(status.isLockoutAuthSet)),
            ]
            members.append(("tpm", .object(tpm)))
            members.append(("error", .null))
        }
        return .object(members)
    }
}
