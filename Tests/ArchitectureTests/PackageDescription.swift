// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// The package as SwiftPM understands it.
struct PackageDescription {
    struct Target {
        let name: String
        let kind: String
        /// Targets of this package and system libraries, not products of others.
        let local: Set<String>
        /// Products of other packages.
        let external: Set<String>
    }

    let targets: [Target]

    var libraries: [Target] { targets.filter { $0.kind == "regular" && $0.name != "TestSupport" } }

    subscript(name: String) -> Target? { targets.first { $0.name == name } }

    /// What `swift package dump-package` prints, read once.
    static func read() async throws -> PackageDescription { try await made.value }

    private static let made = Task { try await PackageDescription() }

    private init() async throws {
        let scratch = NSTemporaryDirectory() + "dump-package-" + UUID().uuidString
        let output = scratch + ".json"
        defer {
            try? FileManager.default.removeItem(atPath: scratch)
            try? FileManager.default.removeItem(atPath: output)
        }
        let process = try SpawnedProcess(
            ["swift", "package", "--package-path", PackageFolder.path, "--scratch-path", scratch, "dump-package"],
            // A build may have been told to look at a part of the package; this looks at the whole.
            environment: ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("HYBRID_") },
            output: output
        )
        try #require(try await process.end() == 0, "swift package dump-package")
        let dump = try JSONDecoder().decode(Dump.self, from: Data(contentsOf: URL(filePath: output)))
        targets = dump.targets.map { target in
            Target(
                name: target.name,
                kind: target.type,
                local: Set(target.dependencies.compactMap(\.local)),
                external: Set(target.dependencies.compactMap(\.external))
            )
        }
    }

    private struct Dump: Decodable {
        struct Target: Decodable {
            let name: String
            let type: String
            let dependencies: [Dependency]
        }

        /// `{"byName": [name, …]}`, `{"target": [name, …]}` or `{"product": [name, package, …]}`.
        struct Dependency: Decodable {
            let local: String?
            let external: String?

            init(from decoder: any Decoder) throws {
                let forms = try decoder.singleValueContainer().decode([String: [Part?]].self)
                local = (forms["byName"] ?? forms["target"])?.compactMap(\.self).first?.text
                external = forms["product"]?.compactMap(\.self).first?.text
            }
        }

        /// A name, or a condition that does not matter here.
        struct Part: Decodable {
            let text: String?
            init(from decoder: any Decoder) throws { text = try? decoder.singleValueContainer().decode(String.self) }
        }

        let targets: [Target]
    }
}
