// SPDX-License-Identifier: Apache-2.0

package import HybridCTAP
package import HybridCommandSupport
internal import HybridPrimitives
package import HybridProgram
package import HybridSecurityKey

/// The memory of the security key in a folder, with the secret that its codes depend on.
package struct CredentialMemoryStore: Sendable {
    /// The name of the file with the codes.
    static let fileName = "security-key-credentials"
    /// The name of the file with the secret.
    static let secretName = "security-key-secret"
    private static let maximumSize = 64 * 1024

    private let folder: StateFolder

    /// Creates the store in a folder.
    package init(in folder: StateFolder) { self.folder = folder }

    /// The stamp of the memory, which changes with each change; `nil` if there is no file.
    var stamp: StateFolder.Stamp? { folder.stamp(of: Self.fileName) }

    /// Returns the memory; it is empty if there is no file.
    package func memory() throws(CommandFailure) -> CredentialMemory {
        guard let bytes = try folder.read(Self.fileName, atMost: Self.maximumSize) else { return CredentialMemory() }
        do throws(CredentialMemoryError) {
            return try CredentialMemory(parsing: bytes)
        } catch {
            throw CommandFailure(
                "\(folder.file(Self.fileName)) is damaged or from a newer version; remove it, or run: hybrid-key forget",
                status: .dataError
            )
        }
    }

    /// Returns the secret, which is created if there is none.
    func installationKey() throws(CommandFailure) -> InstallationKey {
        try folder.whileLocked { () throws(CommandFailure) in
            if var bytes = try folder.read(Self.secretName, atMost: InstallationKey.length) {
                defer { SecretBytes.wipe(&bytes) }
                guard let key = InstallationKey(bytes: bytes) else {
                    throw CommandFailure("\(folder.file(Self.secretName)) is damaged; remove it", status: .dataError)
                }
                return key
            }
            var bytes = [UInt8].random(InstallationKey.length)
            defer { SecretBytes.wipe(&bytes) }
            try folder.replace(Self.secretName, with: bytes)
            return InstallationKey(checked: bytes)
        }
    }

    /// Replaces the memory.
    func save(_ memory: CredentialMemory) throws(CommandFailure) {
        try folder.whileLocked { () throws(CommandFailure) in
            try folder.replace(Self.fileName, with: memory.encoded)
        }
    }

    /// Adds a credential, which the key then confirms to programs that ask for it.
    package func add(_ id: CredentialID, of relyingParty: RelyingPartyID) throws(CommandFailure) {
        let key = try installationKey()
        try folder.whileLocked { () throws(CommandFailure) in
            var memory = try memory()
            _ = memory.note(id, of: relyingParty, key: key)
            try folder.replace(Self.fileName, with: memory.encoded)
        }
    }

    /// Removes all credentials, also those of a damaged file.
    package func forget() throws(CommandFailure) { try save(CredentialMemory()) }
}
