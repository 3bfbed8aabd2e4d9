// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// What fuzzers start from and what once made a parser fall over.
public enum FuzzCorpus {
    /// One input.
    public struct Input: Sendable {
        /// The folder's and the file's name.
        public let name: String
        /// The content.
        public let bytes: [UInt8]
    }

    /// Every input of a target, seeds first; files of `Fuzz/Corpus` and `Fuzz/Crashes`.
    public static func inputs(_ target: String) throws -> [Input] {
        var inputs: [Input] = []
        for kind in ["Corpus", "Crashes"] {
            let folder = "\(PackageFolder.path)/Fuzz/\(kind)/\(target)"
            guard FileManager.default.fileExists(atPath: folder) else { continue }
            for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() {
                guard !name.hasPrefix(".") else { continue }
                let data = try Data(contentsOf: URL(filePath: "\(folder)/\(name)"))
                inputs.append(Input(name: "\(kind)/\(target)/\(name)", bytes: Array(data)))
            }
        }
        return inputs
    }
}
