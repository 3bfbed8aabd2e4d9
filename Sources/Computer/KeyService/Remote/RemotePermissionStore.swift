// SPDX-License-Identifier: Apache-2.0

package import HybridCommandSupport
internal import HybridPrimitives
package import HybridProgram

/// The permissions of hosts, in a file.
package struct RemotePermissionStore: Sendable {
    /// The name of the file.
    static let fileName = "remote-hosts"

    private let folder: StateFolder

    /// Creates the store in a folder.
    package init(in folder: StateFolder) { self.folder = folder }

    /// Returns the permissions.
    package func permissions() throws(CommandFailure) -> RemotePermissions {
        guard let bytes = try folder.read(Self.fileName, atMost: RemotePermissions.maximumSize) else {
            return RemotePermissions()
        }
        do throws(RemotePermissions.MalformedLine) {
            return try RemotePermissions(parsing: bytes)
        } catch {
            throw CommandFailure(
                "\(folder.file(Self.fileName)), line \(error.number): not a permission; correct the file, or remove the line",
                status: .dataError
            )
        }
    }

    /// Changes the permissions.
    package func change<Result>(
        _ body: (inout RemotePermissions) throws(CommandFailure) -> Result
    ) throws(CommandFailure) -> Result {
        try folder.whileLocked { () throws(CommandFailure) in
            var permissions = try permissions()
            let result = try body(&permissions)
            try folder.replace(Self.fileName, with: Array(permissions.text.utf8))
            return result
        }
    }
}

extension CommandFailure {
    /// The failure if there is no room for a further permission.
    package static let tooManyPermissions = CommandFailure(
        "there are too many permissions; remove some: hybrid-key remote forget HOST",
        status: .usage
    )
}
