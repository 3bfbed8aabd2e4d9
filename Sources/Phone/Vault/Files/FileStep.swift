// SPDX-License-Identifier: Apache-2.0

/// One change that a write makes to the file system, with the paths as they were opened.
///
/// After a power cut, synced steps persist and any of the others may be lost. Tests record the steps, replay every
/// prefix, and check that the vault still opens.
enum FileStep: Equatable, Sendable {
    case madeDirectory(String)
    case created(String)
    case wrote(String, [UInt8])
    case syncedFile(String)
    case linked(from: String, to: String)
    case renamed(from: String, to: String)
    case removed(String)
    case syncedDirectory(String)

    /// Receives the steps of the current task; set by tests only.
    @TaskLocal static var recorder: (@Sendable (FileStep) -> Void)?

    /// Passes a completed step to the recorder.
    static func record(_ step: @autoclosure () -> FileStep) {
        if let recorder { recorder(step()) }
    }
}
