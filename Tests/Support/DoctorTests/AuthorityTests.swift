// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HybridDoctor

@Suite("Authorities of the system that cannot be used")
struct AuthorityTests {
    @Test("are one warning that names them, at most four")
    func names() throws {
        #expect(RelayChecks.authorities(unusable: []).map(\.found) == nil)
        let one = try #require(RelayChecks.authorities(unusable: ["Old Root"]))
        #expect(one.state == .warning && one.found.hasSuffix("is not trusted, of \"Old Root\""))
        #expect(one.remedy?.contains("replace it") == true)
        let many = try #require(RelayChecks.authorities(unusable: (1...6).map { "Root \($0)" }))
        #expect(many.found.hasSuffix("\"Root 3\", \"Root 4\" and 2 more"))
    }
}
