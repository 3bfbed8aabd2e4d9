// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridAuthenticator
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridVault

/// Where the vault is, and how the first scan makes it.
struct VaultOpening {
    private let directory: String
    private let stateDirectory: String
    private let virtualRadio: Bool

    init(path: String?, virtualRadio: Bool) throws {
        directory = try path ?? BaseDirectory.data.path() + "/vault"
        stateDirectory = try BaseDirectory.state.path()
        self.virtualRadio = virtualRadio
    }

    /// Opens the vault; one that does not exist yet is made, under a new PIN, before anything goes over a network.
    func open(asking user: PinentryUser, _ progress: ScanProgress) async throws -> Vault {
        do throws(VaultError) {
            return try Vault.open(directory: directory, stateDirectory: stateDirectory, virtualRadio: virtualRadio)
        } catch .doesNotExist {
            return try await create(asking: user, progress)
        } catch {
            throw CommandFailure(error.sentence, status: error.status)
        }
    }

    private func create(asking user: PinentryUser, _ progress: ScanProgress) async throws -> Vault {
        let pin = try await user.askNewPIN(forVaultAt: directory)
        do throws(VaultError) {
            let vault = try await Vault.create(
                directory: directory,
                stateDirectory: stateDirectory,
                pin: pin,
                test: virtualRadio
            )
            progress.tell(
                "vault-made",
                "made a new vault at \(directory); it opens on this device only, so a passkey that exists nowhere else "
                    + "is lost with it"
            )
            return vault
        } catch {
            throw CommandFailure(error.sentence, status: error.status)
        }
    }
}

/// The XDG base directories of this product.
enum BaseDirectory {
    case data
    case state

    func path() throws -> String {
        let (variable, fallback) =
            switch self {
            case .data: ("XDG_DATA_HOME", "/.local/share")
            case .state: ("XDG_STATE_HOME", "/.local/state")
            }
        // A relative path is to be ignored, says the XDG specification.
        if let set = getenv(variable).map({ String(cString: $0) }), set.hasPrefix("/") { return set + "/hybrid" }
        guard let home = getenv("HOME").map({ String(cString: $0) }), home.hasPrefix("/") else {
            let vault = self == .data ? "name the vault with --vault and " : ""
            throw CommandFailure("HOME is not set; set it, or \(vault)set XDG_STATE_HOME", status: .usage)
        }
        return home + fallback + "/hybrid"
    }
}
