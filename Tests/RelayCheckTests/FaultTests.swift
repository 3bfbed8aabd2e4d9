// SPDX-License-Identifier: Apache-2.0

import HybridRelayCheck
import Testing

@Suite("Each fault of a relay", .serialized, .timeLimit(.minutes(10)))
struct FaultTests {
    /// A fault, the checks that must differ, and whether others can't be made because of it.
    struct Case: Sendable {
        let fault: Fault
        let differ: Set<CheckID>
        var prevents = false
        /// The check that waits for what this relay never sends, and for how long.
        var patience: [CheckID: Duration] = [:]
    }

    private static let token = "Token-1_~"

    private static let requests = [
        Case(fault: .refusesNew, differ: [.newUpgrade, .origin, .noDeflate], prevents: true),
        Case(fault: .wrongUpgradeField, differ: [.newUpgrade, .join]),
        Case(fault: .wrongAccept, differ: [.newAccept, .join]),
        Case(fault: .noSubprotocolChosen, differ: [.newSubprotocol, .join]),
        Case(fault: .subprotocolTwice, differ: [.newSubprotocol, .join]),
        Case(fault: .noRoutingID, differ: [.newRoutingID], prevents: true),
        Case(fault: .shortRoutingID, differ: [.newRoutingID], prevents: true),
        Case(fault: .twoRoutingIDs, differ: [.newRoutingID]),
        Case(fault: .refusesConnect, differ: connectRefused, prevents: true),
        Case(fault: .letsSecondJoin, differ: [.secondJoin]),
        Case(fault: .letsUnknownJoin, differ: [.unknownTunnel, .wrongRoutingID]),
        Case(fault: .ignoresRoutingID, differ: [.wrongRoutingID]),
        Case(fault: .caseMatters, differ: [.uppercaseIDs]),
        Case(fault: .takesMalformed, differ: [.malformedID, .malformedIDStatus]),
        Case(fault: .malformedIs404, differ: [.malformedIDStatus]),
        Case(fault: .takesNoSubprotocol, differ: [.noSubprotocol]),
        Case(fault: .noUpgradeIs400, differ: [.noUpgrade]),
        Case(fault: .notGetIs400, differ: [.notGet]),
        Case(fault: .unknownPathIs200, differ: [.unknownPath]),
        Case(fault: .contactIsGone, differ: [.contactNotGone]),
        Case(fault: .refusesOrigin, differ: [.origin]),
        Case(fault: .agreesToDeflate, differ: [.noDeflate]),
        Case(fault: .refusesSecondNew, differ: [.tunnelTwice]),
    ]

    private static let connectRefused: Set<CheckID> = [
        .join, .earlyMessages, .unknownTunnel, .wrongRoutingID, .uppercaseIDs, .tunnelTwice,
    ]
    private static let passing: Set<CheckID> = [
        .messagesSmall, .messages16K, .messagesLarge, .messagesOrder, .roundTrip, .earlyMessages, .tunnelTwice,
    ]

    private static let frames = [
        Case(fault: .changesBytes, differ: passing),
        Case(fault: .sendsText, differ: passing),
        Case(fault: .swapsMessages, differ: [.messagesOrder, .earlyMessages]),
        Case(fault: .closesAbove16K, differ: [.messagesLarge]),
        Case(fault: .losesEarly, differ: [.earlyMessages], patience: [.earlyMessages: .seconds(2)]),
        Case(fault: .closesAtEighthEarly, differ: [.earlyMessages]),
        Case(fault: .waitsForAcknowledgement, differ: [.roundTrip]),
        Case(fault: .waitsInsideMessages, differ: [.roundTrip]),
        Case(fault: .dawdles, differ: [.roundTrip]),
        Case(fault: .ignoresPings, differ: [.ping], patience: [.ping: .seconds(2)]),
        Case(fault: .changesPong, differ: [.ping]),
        Case(fault: .losesCloseCode, differ: [.closeFromClient, .closeFromPhone]),
        Case(fault: .tellsClientsNothing, differ: [.cutByPhone], patience: [.cutByPhone: .seconds(2)]),
        Case(fault: .tellsPhonesNothing, differ: [.cutByClient], patience: [.cutByClient: .seconds(2)]),
        Case(fault: .passesText, differ: [.textMessage]),
        Case(fault: .takesUnmasked, differ: [.unmaskedFrame]),
        Case(fault: .passesOversized, differ: [.oversizedMessage], patience: [.oversizedMessage: .seconds(4)]),
        Case(fault: .waitsForHead, differ: [.slowHead], patience: [.slowHead: .seconds(2)]),
        Case(fault: .ignoresToken, differ: [.token]),
    ]

    @Test("is found by its checks and by no others", arguments: requests + frames)
    func faults(_ expected: Case) async throws {
        try await FaultyRelay.run(expected.fault, token: Self.token) { port in
            var options = CheckOptions.testing
            options.isSlow = true
            options.token = TunnelToken(Self.token.utf8)
            options.patience.merge(expected.patience) { $1 }
            let report = try await check("ws://127.0.0.1:\(port)", options)
            #expect(Set(report.differing) == expected.differ, "\(report.complaints)")
            #expect(report.prevented.isEmpty == !expected.prevents, "\(report.complaints)")
            // Each check may need a tunnel of its own then, which is the most that a run can need.
            #expect(report.connections < 60)
            let isSerious = expected.differ.contains { $0.level == .required }
            #expect(report.verdict == (isSerious ? .differs : .conforms))
        }
    }

    @Test("has its case")
    func complete() {
        #expect(Set((Self.requests + Self.frames).map(\.fault)) == Set(Fault.allCases))
    }

    @Test("and every check but those of TLS is among what they touch")
    func allChecks() {
        let touched = (Self.requests + Self.frames).reduce(into: Set<CheckID>()) { $0.formUnion($1.differ) }
        #expect(Set(CheckID.allCases).subtracting(touched) == [.tlsCertificate, .tlsVersion])
    }

    @Test("is of the relay's making: without one, nothing differs", arguments: [nil, token])
    func faultless(token: String?) async throws {
        try await FaultyRelay.run(nil, token: token) { port in
            var options = CheckOptions.testing
            options.isSlow = true
            options.token = token.flatMap { TunnelToken($0.utf8) }
            let report = try await check("ws://127.0.0.1:\(port)", options)
            #expect(report.complaints == [])
            #expect(report.connections == (token == nil ? 38 : 39))
        }
    }

    @Test("that is none where linked phones are served: 410")
    func contactOffered() async throws {
        try await FaultyRelay.run(.contactIsGone) { port in
            var options = CheckOptions.testing
            options.offersContact = true
            let report = try await check("ws://127.0.0.1:\(port)", options)
            #expect(report.complaints == [])
        }
    }
}
