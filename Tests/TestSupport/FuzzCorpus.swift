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

    /// What became of a target's inputs; the names of files.
    public struct Replay: Sendable {
        /// Those that the parser took, or that went well to their end.
        public fileprivate(set) var taken: [String] = []
        /// Those that it refused.
        public fileprivate(set) var refused: [String] = []
        /// Those at which something that must always hold did not, and what that was.
        public fileprivate(set) var broken: [String] = []
    }

    /// Runs every input of a target through the target itself, which throws when something is broken.
    public static func replay(_ target: String, _ run: ([UInt8]) throws -> Bool) throws -> Replay {
        var replay = Replay()
        for input in try inputs(target) {
            do {
                if try run(input.bytes) { replay.taken.append(input.name) } else { replay.refused.append(input.name) }
            } catch {
                replay.broken.append("\(input.name): \(error)")
            }
        }
        return replay
    }
}
