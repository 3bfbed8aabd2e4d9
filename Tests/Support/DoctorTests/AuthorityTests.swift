// SPDX-License-Identifier: Apache-2.0

import HybridNetwork
import Testing

@testable import HybridDoctor

@Suite("Authorities of the system that cannot be used")
struct AuthorityTests {
    private static func finding(_ names: String?...) -> DoctorFinding? {
        let entries = names.enumerated().map { number, name in
            UnusableAuthorities.Entry(number: number + 1, line: 20 * number + 1, name: name)
        }
        return RelayChecks.authorities(unusable: UnusableAuthorities(file: "/list.crt", entries: entries))
    }

    @Test("are one warning that names the file, and each with its place, at most four")
    func names() throws {
        #expect(RelayChecks.authorities(unusable: nil).map(\.found) == nil)
        let one = try #require(Self.finding("Old Root", nil))
        #expect(one.state == .warning && one.remedy?.contains("replace each") == true)
        let places = #""Old Root" (certificate 1, line 1), certificate 2 (line 21), which is damaged"#
        #expect(one.found == "/list.crt has certificates that can't be parsed and are not trusted: \(places)")
        let many = try #require(Self.finding("1", "2", "3", "4", "5", "6"))
        #expect(many.found.hasSuffix(#"line 41), "4" (certificate 4, line 61) and 2 more"#))
    }

    @Test("have hostile names that reach a terminal without control characters, line ends and changes of direction")
    func hostileNames() throws {
        let hostile = "Evil\u{1B}[2J\u{202E}\r\n\u{85}\u{2028}\u{9B}31m\u{FF02} (trusted)"
        let finding = try #require(Self.finding(hostile))
        var relay = DoctorFinding(.relay, .failed, "issued by \"\(hostile)\"", remedy: hostile)
        relay.subject = hostile
        for line in finding.lines + relay.lines + [DoctorReport.event(relay), relay.sentence] {
            let bad = line.unicodeScalars.filter { scalar in
                let category = scalar.properties.generalCategory
                return [.control, .format, .lineSeparator, .paragraphSeparator].contains(category)
            }
            #expect(bad.isEmpty, "\(line.debugDescription)")
        }
        #expect(finding.found.contains(#""Evil[2J31m' (trusted)" (certificate 1"#), "\(finding.found)")
    }
}
