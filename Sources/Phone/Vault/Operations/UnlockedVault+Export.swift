// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCredentialExchange
internal import HybridPrimitives
internal import HybridThreads

/// The result of an export.
package struct PasskeyExport: Equatable, Sendable {
    /// Number of exported passkeys.
    package let exported: Int
    /// Number of passkeys that were skipped because this version cannot use them.
    package let unusable: Int
    /// False if other users can access the file.
    package var isPrivate = true
}

extension Vault {
    /// Checks the destination of an export before the user is prompted.
    ///
    /// - Throws: ``VaultError/fileExists(path:)``, ``VaultError/exportNamesDirectory(path:)``,
    ///   ``VaultError/exportIntoVault(path:)``, ``VaultError/cannotWriteExport(_:)``.
    package func checkExport(to path: String) throws(VaultError) {
        _ = try ExportDestination(path, vault: files.directory)
    }
}

extension UnlockedVault {
    /// Writes a new file outside the vault directory durably, with mode 0600 if its drive keeps modes.
    ///
    /// - Returns: False if other users can access the file.
    /// - Throws: ``VaultError``, including those of ``Vault/checkExport(to:)``.
    package func writeNew(_ bytes: [UInt8], to path: String) async throws(VaultError) -> Bool {
        let destination = try ExportDestination(path, vault: files.directory)
        return try await DedicatedThread.run { () throws(VaultError) in try destination.write(bytes) }
    }

    /// Writes every usable passkey with its private key **in the clear** to one new file.
    ///
    /// The file is in the Credential Exchange Format, has mode 0600 if its drive keeps modes, and is durable when this
    /// method returns.
    ///
    /// - Throws: ``VaultError``, including those of ``Vault/checkExport(to:)``.
    package func exportPasskeys(to path: String) async throws(VaultError) -> PasskeyExport {
        let destination = try ExportDestination(path, vault: files.directory)
        let passkeys = try await perform { key, files throws(VaultError) in
            let records = try files.records(key: key)
            return records.passkeys.compactMap { id, _ in records.reveal(id).map { (item: id.bytes, body: $0) } }
        }
        // The lock is not held, because a slow disk must not keep a scan waiting.
        return try await DedicatedThread.run { [files] () throws(VaultError) in
            var writer = JSONWriter()
            defer { writer.wipe() }
            // The oldest first, so that an importer keeps the order.
            let exported = passkeys.reversed().compactMap { item, body in body.exchanged.map { (item, $0) } }
            ExchangeDocument.write(
                exported,
                account: files.identity.id,
                time: files.location.clock.now(),
                to: &writer
            )
            guard writer.bytes.count <= ExchangeFormat.maximumLength else {
                throw .cannotWriteExport("it would be longer than the limit of 16 MiB")
            }
            let isPrivate = try destination.write(writer.bytes)
            let unusable = passkeys.count - exported.count
            return PasskeyExport(exported: exported.count, unusable: unusable, isPrivate: isPrivate)
        }
    }
}
