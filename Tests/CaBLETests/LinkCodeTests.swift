// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import TestSupport
import Testing

@testable import HybridCaBLE

@Suite("The code of a link")
struct LinkCodeTests {
    @Test("Two groups of three digits, which differ between sessions")
    func digits() throws {
        var random = SeededGenerator()
        var codes: Set<String> = []
        for _ in 0..<1000 {
            let code = LinkCode(try #require(HandshakeHash(bytes: random.bytes(32)))).description
            let groups = code.split(separator: " ")
            #expect(groups.count == 2 && groups.allSatisfy { $0.count == 3 && $0.allSatisfy(\.isNumber) }, "\(random)")
            codes.insert(code)
        }
        #expect(codes.count > 990, "\(random)")
    }

    @Test("The code of a known hash")
    func known() throws {
        // HKDF-SHA256 of 32 zero bytes without salt, info "hybrid link code v1", 8 bytes, modulo 1,000,000.
        let hash = try #require(HandshakeHash(bytes: [UInt8](repeating: 0, count: 32)))
        #expect(LinkCode(hash).description == "427 714")
    }
}
