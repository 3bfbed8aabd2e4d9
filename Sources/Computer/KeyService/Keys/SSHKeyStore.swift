// SPDX-License-Identifier: Apache-2.0

package import HybridCommandSupport
internal import HybridPrimitives
package import HybridProgram
internal import HybridSSHAgent

/// The SSH keys of a user, in a file.
package struct SSHKeyStore: Sendable {
    /// The name of the file.
    static let fileName = "ssh-keys"

    private let folder: StateFolder

    /// Creates the store in a folder.
    package init(in folder: StateFolder) { self.folder = folder }

    /// The stamp of the file, which changes with each change of the store; `nil` if there is no file.
    var stamp: StateFolder.Stamp? { folder.stamp(of: Self.fileName) }

    /// Returns the keys, oldest first.
    package func keys() throws(CommandFailure) -> [StoredSSHKey] {
        guard let bytes = try folder.read(Self.fileName, atMost: SSHKeyList.maximumSize) else { return [] }
        do throws(KeyListError) {
            return try SSHKeyList.keys(in: bytes)
        } catch {
            throw CommandFailure(
                "\(folder.file(Self.fileName)), line \(error.line): not a key; correct the file, or remove the line",
                status: .dataError
            )
        }
    }

    /// Checks that the store can be read and has room for one more key.
    package func checkRoom() throws(CommandFailure) { try Self.check(try keys().count + 1) }

    /// Adds keys at the end; a key with the same public key is replaced in its place, and keeps its limits.
    ///
    /// - Returns: The keys whose limits here were stricter than those of the added key.
    @discardableResult
    package func add(_ new: [StoredSSHKey]) throws(CommandFailure) -> [StoredSSHKey] {
        try change { keys in
            var stricter: [StoredSSHKey] = []
            for key in new {
                if let index = keys.firstIndex(where: { $0.publicKey == key.publicKey }) {
                    let limited = key.limited(as: keys[index])
                    if limited != key { stricter.append(limited) }
                    keys[index] = limited
                } else {
                    keys.append(key)
                }
            }
            return stricter
        }
    }

    /// Returns the key with this fingerprint or name.
    ///
    /// - Throws: ``CommandFailure`` if there is no such key, or several keys have this name.
    package func key(_ name: String) throws(CommandFailure) -> StoredSSHKey { try Self.key(name, in: keys()) }

    /// Removes the key with this fingerprint or name.
    ///
    /// - Returns: The removed key.
    /// - Throws: ``CommandFailure`` if there is no such key, or several keys have this name.
    package func remove(_ name: String) throws(CommandFailure) -> StoredSSHKey {
        try change { (keys) throws(CommandFailure) in
            let match = try Self.key(name, in: keys)
            keys.removeAll { $0 == match }
            return match
        }
    }

    /// Replaces the key with this fingerprint or name.
    ///
    /// - Parameters:
    ///   - name: The fingerprint or name.
    ///   - change: Returns the key in place of the given one, or `nil` to leave it.
    /// - Returns: The new key.
    /// - Throws: ``CommandFailure`` if there is no such key, several keys have this name, or it is not changed.
    package func restrict(
        _ name: String,
        _ change: (StoredSSHKey) -> StoredSSHKey?
    ) throws(CommandFailure) -> StoredSSHKey {
        try self.change { (keys) throws(CommandFailure) in
            let old = try Self.key(name, in: keys)
            guard let new = change(old) else { throw CommandFailure("internal fault: no key", status: .software) }
            keys = keys.map { $0 == old ? new : $0 }
            return new
        }
    }

    private static func key(_ name: String, in keys: [StoredSSHKey]) throws(CommandFailure) -> StoredSSHKey {
        let matches = keys.filter { $0.publicKey.fingerprint.description == name || "\($0.comment)" == name }
        guard let match = matches.first else {
            throw CommandFailure("there is no key \(name); list them: hybrid-key ssh-keys list", status: .noInput)
        }
        guard matches.count == 1 else {
            throw CommandFailure("several keys are named \(name); give the fingerprint", status: .usage)
        }
        return match
    }

    private func change<Result>(
        _ body: (inout [StoredSSHKey]) throws(CommandFailure) -> Result
    ) throws(CommandFailure) -> Result {
        try folder.whileLocked { () throws(CommandFailure) in
            var keys = try keys()
            let result = try body(&keys)
            try Self.check(keys.count)
            try folder.replace(Self.fileName, with: Array(SSHKeyList.text(keys).utf8))
            return result
        }
    }

    private static func check(_ count: Int) throws(CommandFailure) {
        guard count <= SSHKeyList.maximumCount else {
            throw CommandFailure(
                "there can be at most \(SSHKeyList.maximumCount) keys; remove one: hybrid-key ssh-keys forget",
                status: .usage
            )
        }
    }
}
