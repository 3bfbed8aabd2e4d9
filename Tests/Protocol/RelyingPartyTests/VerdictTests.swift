// SPDX-License-Identifier: Apache-2.0

import Foundation
import HybridRelyingParty
import TestSupport
import Testing

/// Compares verdicts on genuine and mutated responses with those of two other implementations.
@Suite("Verdicts of other relying parties", .timeLimit(.minutes(10)))
struct VerdictTests {
    /// A row of the table in `docs/relying-party.md`.
    struct Row: Hashable {
        let name: String
        let ours: String
        let fido2: String
        let webauthn: String

        var text: String { "| \(name) | \(ours) | \(fido2) | \(webauthn) |" }
        var isDifference: Bool { ours != fido2 || ours != webauthn }
    }

    private struct Verdicts: Decodable {
        let fido2: String?
        let webauthn: String?
    }

    @Test("differ on listed responses only, each with its paragraph", .enabled(if: Python.interpreter != nil))
    func differences() async throws {
        let cases = try await VerdictCases.registrations() + VerdictCases.authentications()
        #expect(cases.count >= 200)
        #expect(Set(cases.map(\.name)).count == cases.count, "names of cases are unique")
        let verdicts = try await others(cases)
        try #require(verdicts.count == cases.count)
        var computed: Set<Row> = []
        var table = ""
        for (one, other) in zip(cases, verdicts) {
            func word(_ accepts: Bool) -> String { accepts ? "accepts" : "rejects" }
            let row = Row(
                name: one.name,
                ours: word(one.ours == nil),
                fido2: word(other.fido2 == nil),
                webauthn: word(other.webauthn == nil)
            )
            table += "\(row.text) \(one.ours.map(\.description) ?? "") | \(other) |\n"
            if row.isDifference { computed.insert(row) }
            if one.name.hasSuffix(": genuine") { #expect(!row.isDifference && one.ours == nil, "\(one) \(other)") }
        }
        let listed = try Self.listedRows()
        for row in computed.subtracting(listed.keys) { Issue.record("not listed: \(row.text)") }
        for row in Set(listed.keys).subtracting(computed) { Issue.record("no difference any more: \(row.text)") }
        for (row, paragraph) in listed {
            #expect(paragraph.contains("§"), "\(row.text) names the paragraph that decides")
            guard let ours = cases.first(where: { $0.name == row.name })?.ours else { continue }
            #expect(paragraph.contains(ours.paragraph), "\(row.text): \(ours.paragraph)")
        }
        if let path = SpawnedProcess.environment["HYBRID_VERDICTS"] {
            try Data(table.utf8).write(to: URL(filePath: path))
        }
    }

    // MARK: Others

    private func others(_ cases: [VerdictCase]) async throws -> [Verdicts] {
        let folder = try TestFolder()
        let (input, output, errors) = (folder.path + "/cases", folder.path + "/verdicts", folder.path + "/errors")
        try JSONEncoder().encode(cases).write(to: URL(filePath: input))
        let script = PackageFolder.path + "/Tests/Protocol/RelyingPartyTests/verdicts.py"
        let process = try SpawnedProcess([Python.path(), script, input], output: output, errors: errors)
        let status = try await process.end()
        let messages = (try? String(contentsOfFile: errors, encoding: .utf8)) ?? ""
        try #require(status == 0, "\(messages)")
        return try JSONDecoder().decode([Verdicts].self, from: Data(contentsOf: URL(filePath: output)))
    }

    /// Returns the rows of the table with their paragraphs.
    private static func listedRows() throws -> [Row: String] {
        let path = PackageFolder.path + "/docs/relying-party.md"
        var rows: [Row: String] = [:]
        for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
            let cells = line.components(separatedBy: " | ")
            guard cells.count == 5, cells[0].hasPrefix("| registration:") || cells[0].hasPrefix("| sign-in:") else {
                continue
            }
            rows[Row(name: String(cells[0].dropFirst(2)), ours: cells[1], fido2: cells[2], webauthn: cells[3])] =
                cells[4]
        }
        return rows
    }
}
