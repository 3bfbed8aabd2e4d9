// SPDX-License-Identifier: Apache-2.0

package import Foundation

/// A temporary folder of one test, for its user alone.
package struct TestFolder: Sendable {
    /// The path, without a slash at the end.
    package let path: String

    /// Creates the folder.
    package init() throws {
        path = FileManager.default.temporaryDirectory.path + "/hybrid-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
    }

    /// Runs `body` with a new folder and removes it; if `body` throws, the folder stays as evidence.
    @discardableResult
    package static func with<Outcome>(_ body: (TestFolder) async throws -> Outcome) async throws -> Outcome {
        let folder = try TestFolder()
        let outcome = try await body(folder)
        try folder.remove()
        return outcome
    }

    /// Removes the folder with its contents, also while a program that ends still writes there.
    package func remove() throws {
        for attempt in 1... {
            do {
                return try FileManager.default.removeItem(atPath: path)
            } catch {
                guard FileManager.default.fileExists(atPath: path) else { return }
                guard attempt < 100 else { throw error }
                usleep(10_000)
            }
        }
    }

    /// Writes a text into a file of the folder and returns the file's path.
    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        let file = "\(path)/\(name)"
        let parent = URL(fileURLWithPath: file).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        try TestFile.write(text, to: file)
        return file
    }
}

/// Contents of files.
package enum TestFile {
    /// Writes a text, in place of what the file contained.
    package static func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    /// Writes an executable program that can be started at once.
    ///
    /// A program that this process has open for writing cannot be started, and neither while a child that another test
    /// starts at that moment still inherits the descriptor. Therefore `cp` writes it.
    package static func writeProgram(_ text: String, to path: String) async throws {
        let draft = path + ".draft"
        try write(text, to: draft)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: draft)
        guard try await SpawnedProcess(["/bin/cp", draft, path]).end() == 0 else {
            throw RunningProgram.TimedOut(description: "\(draft) was not copied to \(path)")
        }
    }

    /// Returns the text of a file, or an empty text if it can't be read.
    package static func text(_ path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }

    /// Returns the contents of every file below a folder, by path relative to the folder.
    package static func contents(below folder: String) -> [String: Data] {
        var files: [String: Data] = [:]
        for case let name as String in FileManager.default.enumerator(atPath: folder).map({ Array($0) }) ?? [] {
            files[name] = FileManager.default.contents(atPath: folder + "/" + name)
        }
        return files
    }
}
