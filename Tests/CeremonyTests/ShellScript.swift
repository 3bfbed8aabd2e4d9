// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// A program of the shell that a test writes.
enum ShellScript {
    /// Writes one that can be started at once.
    ///
    /// A program that this process has open for writing can't be started, and a child that another test starts at that
    /// moment has it open, too, for a little longer. So somebody else writes it.
    static func write(_ text: String, to path: String) async throws {
        let draft = path + ".draft"
        try Data(text.utf8).write(to: URL(fileURLWithPath: draft))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: draft)
        let copy = try SpawnedProcess(["/bin/cp", draft, path], environment: ProcessInfo.processInfo.environment)
        guard try await copy.end() == 0 else {
            throw RunningProgram.TimedOut(description: "\(draft) was not copied to \(path)")
        }
    }
}
