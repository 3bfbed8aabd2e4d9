// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// A configuration file's content, and the name by which to speak of it.
public struct ConfigurationFile: Hashable, Sendable {
    /// Where it was found.
    public let path: String
    /// What it holds.
    public let bytes: [UInt8]

    /// A file whose content is already there.
    public init(path: String, bytes: [UInt8]) {
        self.path = path
        self.bytes = bytes
    }

    /// Reads the file that was named on the command line, or else the usual one if there is one.
    public static func read(named path: String?, orElse usual: String) throws(CommandFailure) -> ConfigurationFile? {
        do throws(FileReadError) {
            let bytes = try readWholeFile(path ?? usual, atMost: EnvironmentFile.maximumSize)
            return ConfigurationFile(path: path ?? usual, bytes: bytes)
        } catch {
            if path == nil, error == .missing { return nil }
            let status: ExitStatus = error == .tooLarge ? .configuration : .noInput
            throw CommandFailure("\(path ?? usual): \(error.sentence)", status: status)
        }
    }
}
