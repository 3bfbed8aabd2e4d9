// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridAuthenticator
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridVault

/// Opening of the vault for a scan; the first scan creates it.
struct VaultOpening {
    private let location: VaultLocation
    private let virtualRadio: Bool

    init(path: String?, virtualRadio: Bool) throws {
        location = try VaultLocation(path: path)
        self.virtualRadio = virtualRadio
    }

    /// Opens the vault.
    ///
    /// If there is none, asks for a new PIN and creates it, before any network traffic.
    func open(asking user: PinentryUser, _ progress: ScanProgress) async throws -> Vault {
        do throws(VaultError) {
            return try Vault.open(at: location, virtualRadio: virtualRadio)
        } catch .doesNotExist {
            return try await create(asking: user, progress)
        } catch {
            throw CommandFailure(error)
        }
    }

    private func create(asking user: PinentryUser, _ progress: ScanProgress) async throws -> Vault {
        let pin = try await user.askNewPIN(forVaultAt: location.directory)
        do throws(VaultError) {
            let vault = try await Vault.create(at: location, pin: pin, isTest: virtualRadio)
            progress.notify(
                "vault-made",
                "made a new vault at \(location.directory); it opens on this device only, so a passkey that exists "
                    + "nowhere else is lost with it"
            )
            return vault
        } catch {
            throw CommandFailure(error)
        }
    }
}

extension VaultLocation {
    /// Creates the location of a vault, by default in the user's XDG data directory.
    init(path: String?) throws {
        self.init(
            directory: try path ?? BaseDirectory.data.path() + "/vault",
            stateDirectory: try BaseDirectory.state.path()
        )
    }
}

/// The XDG base directories of this program.
private enum BaseDirectory {
    case data
    case state

    func path() throws -> String {
        let (variable, fallback) =
            switch self {
            case .data: ("XDG_DATA_HOME", "/.local/share")
            case .state: ("XDG_STATE_HOME", "/.local/state")
            }
        // The XDG specification requires that relative paths are ignored.
        if let set = getenv(variable).map({ String(cString: $0) }), set.hasPrefix("/") { return set + "/hybrid" }
        guard let home = getenv("HOME").map({ String(cString: $0) }), home.hasPrefix("/") else {
            let vault = self == .data ? "name the vault with --vault and " : ""
            throw CommandFailure("HOME is not set; set it, or \(vault)set XDG_STATE_HOME", status: .usage)
        }
        return home + fallback + "/hybrid"
    }
}
