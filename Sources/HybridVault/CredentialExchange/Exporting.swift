// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridPrimitives

/// What went into an export.
public struct PasskeyExport: Equatable, Sendable {
    /// How many passkeys are in the file.
    public let exported: Int
    /// How many were left out, because this version can't use them.
    public let unusable: Int
}

extension Vault {
    /// Refuses a place where no export can be written, before anybody is asked for anything.
    ///
    /// - Throws: ``VaultError/fileExists(path:)``, ``VaultError/exportNamesDirectory(path:)``,
    ///   ``VaultError/exportIntoVault(path:)``, ``VaultError/cannotWriteExport(_:)``.
    public func checkExport(to path: String) throws(VaultError) {
        _ = try ExportDestination(path, vault: files.directory)
    }
}

extension UnlockedVault {
    /// Writes every usable passkey with its key **in the clear** to one new file, 0600, in the Credential Exchange
    /// Format; it is durable when this returns.
    ///
    /// - Throws: ``VaultError``; that of ``Vault/checkExport(to:)``, too.
    public func exportPasskeys(to path: String) async throws(VaultError) -> PasskeyExport {
        try await perform { key, files throws(VaultError) in try files.export(to: path, key: key) }
    }
}

extension VaultFiles {
    fileprivate func export(to path: String, key: SymmetricKey) throws(VaultError) -> PasskeyExport {
        let place = try ExportDestination(path, vault: directory)
        // The first made comes first, so that whoever imports the file keeps the order.
        let passkeys = Array(try load(key: key).passkeys.reversed())
        var writer = JSONWriter()
        defer { writer.wipe() }
        let exported = ExchangeDocument.write(passkeys, account: identity.id, time: clock.now(), to: &writer)
        guard writer.bytes.count <= ExchangeFormat.maximumLength else {
            throw .cannotWriteExport("it would be longer than 16 MiB, which nobody reads")
        }
        try place.write(writer.bytes)
        return PasskeyExport(exported: exported, unusable: passkeys.count - exported)
    }
}
