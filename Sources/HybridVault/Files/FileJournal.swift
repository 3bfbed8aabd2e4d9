// SPDX-License-Identifier: Apache-2.0

/// What a write asks of the file system, step by step; paths as they were opened.
///
/// A power cut keeps of these steps what was synced and of the others whatever it likes, so tests record them,
/// replay every prefix, and look whether the vault still opens.
enum FileStep: Equatable, Sendable {
    case madeDirectory(String)
    case created(String)
    case wrote(String, [UInt8])
    case syncedFile(String)
    case linked(from: String, to: String)
    case renamed(from: String, to: String)
    case removed(String)
    case syncedDirectory(String)
}

/// Who listens to the steps of the current task; nobody, outside tests.
enum FileJournal {
    @TaskLocal static var listener: (@Sendable (FileStep) -> Void)?

    /// Tells a step that was done.
    static func note(_ step: @autoclosure () -> FileStep) {
        if let listener { listener(step()) }
    }
}
