// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Where the programs under test lie: in HYBRID_TEST_PROGRAMS, or beside the test bundle that runs now.
public enum BuildFolder {
    /// The folder.
    public static let path: String = {
        if let named = ProcessInfo.processInfo.environment["HYBRID_TEST_PROGRAMS"] { return named }
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let folder = URL(fileURLWithPath: own).deletingLastPathComponent().path
        if FileManager.default.isExecutableFile(atPath: folder + "/hybrid-relay") { return folder }
        return URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent(".build/debug").path
    }()

    /// The path of a program in it.
    public static func program(_ name: String) -> String { "\(path)/\(name)" }
}
