// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// Result of an export.
public struct PasskeyExport: Equatable, Sendable {
    /// Number of exported passkeys.
    public let exported: Int
    /// Number of passkeys that were skipped because this version cannot use them.
    public let unusable: Int
}

extension Vault {
    /// Checks the destination of an export before the user is prompted.
    ///
    /// - Throws: ``VaultError/fileExists(path:)``, ``VaultError/exportNamesDirectory(path:)``,
    ///   ``VaultError/exportIntoVault(path:)``, ``VaultError/cannotWriteExport(_:)``.
    public func checkExport(to path: String) throws(VaultError) {
        _ = try ExportDestination(path, vault: files.directory)
    }
}

extension UnlockedVault {
    /// Writes every usable passkey with its private key **in the clear** to one new file, 0600, in the Credential
    /// Exchange Format; it is durable when this returns.
    ///
    /// - Throws: ``VaultError``, including those of ``Vault/checkExport(to:)``.
    public func exportPasskeys(to path: String) async throws(VaultError) -> PasskeyExport {
        try await perform { key, files throws(VaultError) in try files.export(to: path, key: key) }
    }
}

extension VaultFiles {
    fileprivate func export(to path: String, key: SymmetricKey) throws(VaultError) -> PasskeyExport {
        let destination = try ExportDestination(path, vault: directory)
        // The oldest first, so that an importer keeps the order.
        let passkeys = Array(try records(key: key).passkeys.reversed())
        var writer = JSONWriter()
        defer { writer.wipe() }
        let exported = ExchangeDocument.write(passkeys, account: identity.id, time: location.clock.now(), to: &writer)
        guard writer.bytes.count <= ExchangeFormat.maximumLength else {
            throw .cannotWriteExport("it would be longer than the limit of 16 MiB")
        }
        try destination.write(writer.bytes)
        return PasskeyExport(exported: exported, unusable: passkeys.count - exported)
    }
}
