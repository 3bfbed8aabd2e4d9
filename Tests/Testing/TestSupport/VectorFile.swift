// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// The folder of the package, relative to this file.
package enum PackageFolder {
    /// The path, without a slash at the end.
    package static let path: String = {
        let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        return parts.dropLast(4).joined(separator: "/")
    }()
}

/// Test vectors on which other implementations, real phones and reference scripts agree.
package enum VectorFile {
    /// Reads a file of `Tests/Vectors`.
    package static func load(_ name: String = "vectors.json") throws -> JSONValue {
        let data = try Data(contentsOf: URL(filePath: "\(PackageFolder.path)/Tests/Vectors/\(name)"))
        return try JSONDecoder().decode(JSONValue.self, from: data)
    }
}
