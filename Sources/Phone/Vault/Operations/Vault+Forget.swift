// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

extension Vault {
    /// Forgets that there was a vault at a path, so that a new one may be created there.
    ///
    /// This device's secret and its record of revisions stay: if the vault returns, it opens as before, and a rollback is
    /// detected.
    ///
    /// - Returns: The ID of the forgotten vault, and what still prevents a new one; `nil` for nothing.
    /// - Throws: ``VaultError/notKnown(path:)``, ``VaultError/stillThere(path:)``, and the errors of opening a vault other
    ///   than ``VaultError/missing(path:)`` and ``VaultError/anotherVault(path:)``.
    package static func forget(at location: VaultLocation) throws(VaultError) -> (id: String, obstacle: VaultError?) {
        let path = location.directory
        let paths = KnownPaths(stateDirectory: location.stateDirectory)
        guard let known = paths.vault(at: path) else { throw .notKnown(path: path) }
        do throws(VaultError) {
            _ = try VaultDirectory.open(location)
            throw VaultError.stillThere(path: path)
        } catch {
            switch error {
            case .missing, .anotherVault: break
            default: throw error
            }
        }
        do throws(FileError) {
            try paths.forget(path)
        } catch {
            throw .cannotWrite("\(location.stateDirectory): \(error.reason)")
        }
        do throws(VaultError) {
            _ = try VaultDirectory.open(location)
        } catch .doesNotExist {
            // A new vault may be created here.
        } catch {
            return (known, error)
        }
        return (known, nil)
    }
}
