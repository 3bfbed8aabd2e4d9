// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// The lab's phone as one whose `prf` falls short, with `hybrid-client`.
@Suite("The lab's phone without a complete prf")
struct LabPRFTests {
    private static let salts = #"{"eval": {"first": "b25l", "second": "dHdv"}}"#
    private static let creation = LabProcess.creation("ada").replacing(#""prf": {}"#, with: #""prf": \#(salts)"#)
    private static let signIn =
        #"{"publicKey": {"rpId": "shop.example", "challenge": "Y2hhbGxlbmdl", "extensions": {"prf": \#(salts)}}}"#

    /// Performs a request with a script, and returns `prf` of the response and the phone's events.
    private static func prf(
        _ lab: LabProcess,
        _ request: String,
        _ script: String
    ) async throws -> (prf: JSONValue?, events: [JSONValue]) {
        let ended = try await lab.runCeremony(request, script)
        #expect(ended.client.status == 0 && ended.phone.status == 0, "\(ended)")
        let response = try JSONDecoder().decode(JSONValue.self, from: Data(ended.client.output.utf8))
        return (response["clientExtensionResults"]?["prf"], ended.events)
    }

    /// A script, what the client gets, and what the phone reports that it returned.
    struct Case: Sendable, CustomTestStringConvertible {
        let script: String
        var isRequested = true
        var isEnabled = true
        var returned: [String] = []
        /// True if the client gets results at a sign-in.
        var signsWithResults = false
        var testDescription: String { script }
    }

    // A client gets no result at all if one is missing.
    static let cases = [
        Case(script: "prf:absent", isRequested: false, isEnabled: false),
        Case(script: "prf:absent,slow:0.1", isRequested: false, isEnabled: false),
        Case(script: "prf:ignored", isEnabled: false, returned: ["nothing", "nothing"]),
        Case(script: "prf:disabled", isEnabled: false, returned: ["enabled: false", "nothing"]),
        Case(script: "prf:first", returned: ["enabled: true, first", "first"]),
        Case(script: "prf:first,slow:0.1", returned: ["enabled: true, first", "first"]),
        Case(script: "prf:sign-in", returned: ["enabled: true"], signsWithResults: true),
    ]

    @Test("A step prf has the expected results, and a later script returns those of the same passkey", arguments: cases)
    func results(_ expected: Case) async throws {
        try await LabProcess.run { lab in
            let made = try await Self.prf(lab, Self.creation, expected.script)
            #expect(made.prf?["enabled"] == .boolean(expected.isEnabled) && made.prf?["results"] == nil, "\(made)")
            let signed = try await Self.prf(lab, Self.signIn, expected.script)
            let faults = (made.events + signed.events).compactMap { $0["fault"] }
            #expect(faults == expected.returned.map { .text("returns \($0) for prf") }, "\(faults)")
            for events in [made.events, signed.events] {
                let request = try #require(events.first { $0["event"] == "request" })
                #expect(request["extensions"] == .list(expected.isRequested ? ["prf"] : []), "\(request)")
            }
            let whole = try #require(try await Self.prf(lab, Self.signIn, "approve").prf?["results"])
            #expect(whole["first"] != nil && whole["second"] != nil && whole["first"] != whole["second"])
            #expect(signed.prf?["results"] == (expected.signsWithResults ? whole : nil), "\(signed)")
        }
    }
}
