// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import HybridCommandSupport
internal import HybridPrimitives
package import HybridProgram

/// A line of the journal: a request that a phone was asked to sign, and the result.
///
/// An entry contains no secrets. Its texts are on one line and contain no control characters.
package struct JournalEntry: Hashable, Sendable {
    /// The program interface through which the request came.
    package enum Door: String, Sendable {
        /// The SSH agent.
        case agent = "ssh-agent"
        /// The command `ssh-keygen`.
        case keygen = "ssh-keygen"
        /// The command `link`.
        case link
        /// The virtual security key.
        case securityKey = "security-key"
        /// The command `pam enrol`.
        case pamEnrolment = "pam-enrol"
        /// A website in a browser on another host.
        case remote
        /// The command `secret`.
        case secret
        /// The plug-in of age.
        case agePlugin = "age-plugin"
    }

    /// The time in seconds since 1970.
    package let time: UInt64
    /// The interface.
    package let door: Door
    /// The relying party ID.
    package let relyingParty: String
    /// The purpose, as parsed from the request.
    package let purpose: String
    /// The result, such as `signed` or `declined`.
    package let result: String

    /// Creates an entry; its texts are made safe and shortened.
    package init(time: UInt64, door: Door, relyingParty: String, purpose: String, result: String) {
        self.time = time
        self.door = door
        self.relyingParty = Self.safe(relyingParty)
        self.purpose = Self.safe(purpose)
        self.result = Self.safe(result)
    }

    /// Creates an entry from its line; `nil` for any other line.
    init?(line: Substring) {
        let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 5, let time = UInt64(fields[0]), let door = Door(rawValue: fields[1]) else { return nil }
        self.init(time: time, door: door, relyingParty: fields[2], purpose: fields[3], result: fields[4])
    }

    /// The line without a line end: the fields, separated by tabs.
    var line: String { "\(time)\t\(door.rawValue)\t\(relyingParty)\t\(purpose)\t\(result)" }

    /// The entry for users, on one line.
    package var text: String { "\(UTCTime.text(time))  \(result)  \(purpose)  [\(relyingParty), \(door.rawValue)]" }

    /// The entry as a JSON object on one line.
    package var json: String {
        JSONText.object([
            ("time", .string(UTCTime.text(time))), ("door", .string(door.rawValue)), ("rp_id", .string(relyingParty)),
            ("purpose", .string(purpose)), ("result", .string(result)),
        ]).description
    }

    private static let maximumLength = 600

    private static func safe(_ text: String) -> String {
        StandardError.oneLine(String(String.UnicodeScalarView(text.unicodeScalars.prefix(maximumLength))))
    }
}

/// The journal of all requests that were shown, a file of bounded size in the order of time.
package struct Journal: Sendable {
    /// The name of the file.
    static let fileName = "journal"
    /// The size in bytes above which the older half is dropped.
    static let maximumSize = 512 * 1024

    private let folder: StateFolder

    /// Creates the journal in a folder.
    package init(in folder: StateFolder) { self.folder = folder }

    /// Appends an entry.
    package func append(_ entry: JournalEntry) throws(CommandFailure) {
        try folder.whileLocked { () throws(CommandFailure) in
            try shorten()
            try folder.append(Array((entry.line + "\n").utf8), to: Self.fileName)
        }
    }

    /// Appends an entry with the current time; a failure is reported, because it does not affect the request.
    package func record(
        _ purpose: String,
        of relyingParty: String,
        by door: JournalEntry.Door,
        result: String,
        report: (String) -> Void
    ) {
        let entry = JournalEntry(
            time: WallClock.realtime.now(),
            door: door,
            relyingParty: relyingParty,
            purpose: purpose,
            result: result
        )
        do throws(CommandFailure) {
            try append(entry)
        } catch {
            report(error.sentence)
        }
    }

    /// Returns all entries, oldest first; lines that are not entries are skipped.
    package func entries() throws(CommandFailure) -> [JournalEntry] {
        // One entry may exceed the limit before the next one shortens the file.
        let bytes = try folder.read(Self.fileName, atMost: 2 * Self.maximumSize) ?? []
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap(JournalEntry.init(line:))
    }

    private func shorten() throws(CommandFailure) {
        guard let size = folder.stamp(of: Self.fileName)?.size, size > Self.maximumSize else { return }
        let bytes = try folder.read(Self.fileName, atMost: 2 * Self.maximumSize) ?? []
        let rest = bytes.suffix(Self.maximumSize / 2).drop { $0 != UInt8(ascii: "\n") }.dropFirst()
        try folder.replace(Self.fileName, with: Array(rest))
    }
}
