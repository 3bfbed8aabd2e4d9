// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Seeds of the fuzzers, and inputs that once crashed a parser.
package enum FuzzCorpus {
    /// One input.
    package struct Input: Sendable {
        /// The folder's and the file's name.
        package let name: String
        /// The content.
        package let bytes: [UInt8]
    }

    /// Returns every input of a target: files of `Fuzz/Corpus`, then of `Fuzz/Crashes`.
    package static func inputs(_ target: String) throws -> [Input] {
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

    /// The results for a target's inputs, as file names.
    package struct Replay: Sendable {
        /// Inputs that the parser accepted.
        package fileprivate(set) var taken: [String] = []
        /// Inputs that the parser rejected.
        package fileprivate(set) var refused: [String] = []
        /// Inputs that violated an invariant, each with the error.
        package fileprivate(set) var broken: [String] = []
    }

    /// Passes every input of a target to `run`, which returns true if it accepts the input and throws if an invariant
    /// does not hold.
    package static func replay(_ target: String, _ run: ([UInt8]) throws -> Bool) throws -> Replay {
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
