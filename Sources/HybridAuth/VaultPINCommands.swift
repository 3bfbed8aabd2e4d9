// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCommandSupport
internal import HybridVault

/// `vault init`: creates a vault, or sets a PIN for a copied vault on this device.
struct VaultInit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Create a vault, or set up a copied one on this device.",
        discussion: """
            If there is no vault, a new one is created with a new PIN. If a vault was copied here, its passphrase or \
            recovery code is asked for, and it gets a PIN on this device.
            """
    )

    @OptionGroup var options: VaultOptions

    func run() async throws {
        try await runVaultCommand {
            let location = try options.location.location()
            let directory = location.directory
            let prompts = try options.prompts()
            let status: VaultStatus?
            do throws(VaultError) {
                status = try Vault.status(at: location)
            } catch .doesNotExist {
                status = nil
            }
            guard let status else {
                let pin = try await prompts.askNewPIN(for: directory)
                let isTest = SystemBusVariable.namesAnotherBus
                _ = try await Vault.create(at: location, pin: pin, isTest: isTest)
                if isTest { report("VIRTUAL RADIO: scan uses this vault only under one") }
                report("made a new vault at \(directory)")
                return report(VaultStatusCommand.opensNowhereElse)
            }
            guard !status.hasPIN else { throw VaultError.hasPINHere(path: directory) }
            guard status.opensElsewhere else { throw VaultError.noSuchSlot }
            try await prompts.join(location, to: "Open this vault on this device")
            report("the vault at \(directory) has a PIN on this device now")
        }
    }
}

/// Decides which kind of vault `vault init` creates; only the bus that answers decides which kind may sign.
enum SystemBusVariable {
    private static let paths = ["/run/dbus/system_bus_socket", "/var/run/dbus/system_bus_socket"]

    /// True if `DBUS_SYSTEM_BUS_ADDRESS` names another bus than the system's own.
    static var namesAnotherBus: Bool {
        guard let value = getenv("DBUS_SYSTEM_BUS_ADDRESS").map({ String(cString: $0) }), !value.isEmpty else {
            return false
        }
        return !paths.contains { value == "unix:path=" + $0 }
    }
}

/// `vault change-pin`: sets another PIN on this device.
struct VaultChangePIN: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "change-pin",
        abstract: "Choose another PIN for this device."
    )

    private static let purpose = "Choose another PIN for this vault"

    @OptionGroup var options: VaultOptions

    @Flag(help: "Ask for the passphrase or recovery code instead of the PIN.")
    var forgotten = false

    func run() async throws {
        try await runVaultCommand {
            if forgotten {
                let prompts = try options.prompts()
                // The local state is not read: this command also repairs it.
                let location = try options.location.location()
                _ = try Vault.isTest(at: location)
                try await prompts.join(location, to: Self.purpose)
            } else {
                try await options.withUnlockedVault(to: Self.purpose) { session in
                    try await session.vault.changePIN(to: session.prompts.askNewPIN(for: session.path))
                }
            }
            report("the PIN was changed; it is valid on this device only")
        }
    }
}
