// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HybridNetwork

@Suite("The name of the program in requests")
struct UserAgentTests {
    @Test(
        "It is the name of one of our programs, without anything else of the path",
        arguments: [
            ("/usr/bin/hybrid-client", "hybrid-client"), ("/home/ada/.build/debug/hybrid-auth", "hybrid-auth"),
            ("/usr/bin/hybrid-key (deleted)", "hybrid-key"), ("/opt/hybrid-secret/app", "hybrid"),
            ("/usr/bin/hybrid-", "hybrid"), ("/usr/bin/hybrid-a\r\nX: y", "hybrid"), ("hybrid-relay", "hybrid-relay"),
            ("/usr/bin/hybrid-Auth", "hybrid"), ("", "hybrid"), ("/usr/bin/curl", "hybrid"),
        ]
    )
    func products(path: String, product: String) {
        #expect(UserAgent.product(ofExecutable: path) == product)
    }

    @Test("A version follows the name")
    func version() {
        #expect(UserAgent.text.hasPrefix("hybrid/"))
        #expect(UserAgent.text.dropFirst(7).split(separator: ".").allSatisfy { Int($0) != nil })
    }
}
