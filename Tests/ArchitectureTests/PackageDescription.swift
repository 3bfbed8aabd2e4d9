// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// The package description as printed by SwiftPM.
struct PackageDescription {
    struct Target {
        let name: String
        let kind: String
        /// The folder, relative to the package.
        let path: String
        /// Targets of this package, including system libraries.
        let local: Set<String>
        /// Products of other packages.
        let external: Set<String>
    }

    let targets: [Target]
    /// Names of the library targets that other packages can use.
    let products: Set<String>

    var libraries: [Target] { targets.filter { $0.kind == "regular" && !$0.name.hasSuffix("TestSupport") } }

    subscript(name: String) -> Target? { targets.first { $0.name == name } }

    /// Returns the target to which a file belongs.
    func target(of file: SourceFile) -> Target? { targets.first { file.path.hasPrefix($0.path + "/") } }

    /// Returns the targets that a target depends on, directly or through others.
    func reachable(from target: Target) -> Set<String> {
        target.local.reduce(into: target.local) { all, name in
            if let dependency = self[name] { all.formUnion(reachable(from: dependency)) }
        }
    }

    /// Returns the output of `swift package dump-package`, which is read once.
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
            // Variables may restrict the package to a part; this test needs all of it.
            environment: ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("HYBRID_") },
            output: output
        )
        try #require(try await process.end() == 0, "swift package dump-package")
        let dump = try JSONDecoder().decode(Dump.self, from: Data(contentsOf: URL(filePath: output)))
        products = Set(dump.products.flatMap(\.targets))
        targets = dump.targets.map { target in
            Target(
                name: target.name,
                kind: target.type,
                path: target.path ?? (target.type == "test" ? "Tests/" : "Sources/") + target.name,
                local: Set(target.dependencies.compactMap(\.local)),
                external: Set(target.dependencies.compactMap(\.external))
            )
        }
    }

    private struct Dump: Decodable {
        struct Product: Decodable {
            let targets: [String]
        }

        struct Target: Decodable {
            let name: String
            let type: String
            let path: String?
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

        /// A name, or a condition, which is ignored.
        struct Part: Decodable {
            let text: String?
            init(from decoder: any Decoder) throws { text = try? decoder.singleValueContainer().decode(String.self) }
        }

        let products: [Product]
        let targets: [Target]
    }
}
