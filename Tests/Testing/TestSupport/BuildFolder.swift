// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The folder of the programs under test: `HYBRID_TEST_PROGRAMS`, or the folder of the running test bundle.
package enum BuildFolder {
    /// The path, without a slash at the end.
    package static let path: String = {
        if let named = ProcessInfo.processInfo.environment["HYBRID_TEST_PROGRAMS"] { return named }
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let folder = URL(fileURLWithPath: own).deletingLastPathComponent().path
        if FileManager.default.isExecutableFile(atPath: folder + "/hybrid-relay") { return folder }
        return PackageFolder.path + "/.build/debug"
    }()

    /// Returns the path of a program.
    package static func program(_ name: String) -> String { "\(path)/\(name)" }
}
