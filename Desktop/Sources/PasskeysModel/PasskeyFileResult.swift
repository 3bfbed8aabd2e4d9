// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridTranslation

/// The outcome of an import, an export or a backup: what the user has to know about the file.
package struct PasskeyFileResult: Equatable, Sendable {
    /// The outcome in words; empty if there is nothing to know.
    package let text: String

    /// Creates the outcome from the last line of `import --json`.
    package init(importOutput line: [UInt8]) {
        guard let result = JSONText(helperLine: line), let added = result.count("added") else {
            text = tr("There is no passkey in this file that can be kept here")
            return
        }
        let count = tr("{count} passkey imported", plural: "{count} passkeys imported", count: added)
        let warning = tr("Not everything in the file: keep it.")
        text = result.isTrue("complete") ? count : "\(count). \(warning)"
    }

    /// Creates the outcome from the output of `vault backup --json`.
    package init(backupOutput line: [UInt8]) {
        guard let key = JSONText(helperLine: line)?.shortText("key", atMost: 64)?.shownAlone, !key.isEmpty else {
            text = ""
            return
        }
        text = tr("Write down these digits, which restoring the backup shows: {digits}", ["digits": key])
    }

    /// Creates the outcome from the last line of `export --json`.
    package init(exportOutput line: [UInt8]) {
        guard let result = JSONText(helperLine: line), let written = result.count("written"), written > 0 else {
            text = tr("There is no passkey to export")
            return
        }
        let count = tr("{count} passkey exported", plural: "{count} passkeys exported", count: written)
        var sentences: [String] = []
        let left = result.count("leftOut") ?? 0
        if left > 0 { sentences.append(tr("{count} was left out.", plural: "{count} were left out.", count: left)) }
        if !result.isTrue("private") {
            sentences.append(tr("Other users can read the file: move it to another drive."))
        }
        text = sentences.isEmpty ? count : "\(count). \(sentences.joined(separator: " "))"
    }
}
