// SPDX-License-Identifier: Apache-2.0

import HybridNetwork
import HybridRelayCheck
import Testing

@Suite("Faults of relays", .serialized, .timeLimit(.minutes(10)))
struct FaultTests {
    /// A fault, and the checks that must differ.
    struct Case: Sendable {
        let fault: Fault
        let differ: Set<CheckID>
        /// True if the fault prevents other checks.
        var prevents = false
        /// A shorter time for the check that waits for a missing reaction.
        var reactionTimeouts: [CheckID: Duration] = [:]
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
        Case(fault: .losesEarly, differ: [.earlyMessages], reactionTimeouts: [.earlyMessages: .seconds(2)]),
        Case(fault: .closesAtEighthEarly, differ: [.earlyMessages]),
        Case(fault: .waitsForAcknowledgement, differ: [.roundTrip]),
        Case(fault: .waitsInsideMessages, differ: [.roundTrip]),
        Case(fault: .delaysMessages, differ: [.roundTrip]),
        Case(fault: .ignoresPings, differ: [.ping], reactionTimeouts: [.ping: .seconds(2)]),
        Case(fault: .changesPong, differ: [.ping]),
        Case(fault: .losesCloseCode, differ: [.closeFromClient, .closeFromPhone]),
        Case(fault: .hidesEndFromClient, differ: [.cutByPhone], reactionTimeouts: [.cutByPhone: .seconds(2)]),
        Case(fault: .hidesEndFromPhone, differ: [.cutByClient], reactionTimeouts: [.cutByClient: .seconds(2)]),
        Case(fault: .passesText, differ: [.textMessage]),
        Case(fault: .takesUnmasked, differ: [.unmaskedFrame]),
        Case(fault: .passesOversized, differ: [.oversizedMessage], reactionTimeouts: [.oversizedMessage: .seconds(4)]),
        Case(fault: .waitsForHead, differ: [.slowHead], reactionTimeouts: [.slowHead: .seconds(2)]),
        Case(fault: .ignoresToken, differ: [.token]),
    ]

    private static let linked = [
        Case(fault: .refusesProof, differ: [.listenProof], prevents: true),
        Case(fault: .acceptsAnySignature, differ: [.listenBadProof, .listenOtherHost]),
        Case(fault: .acceptsAnyKey, differ: [.listenOtherKey]),
        Case(fault: .acceptsAnyHost, differ: [.listenOtherHost]),
        Case(fault: .keepsOlderListener, differ: [.listenReplaced], reactionTimeouts: [.listenReplaced: .seconds(2)]),
        Case(fault: .changesPayload, differ: [.contactWake, .contactHeld]),
        Case(fault: .signalsNothing, differ: [.contactWake], reactionTimeouts: [.contactWake: .seconds(2)]),
        Case(fault: .losesClientsEarly, differ: [.contactWake], reactionTimeouts: [.contactWake: .seconds(2)]),
        Case(fault: .holdsNothing, differ: [.contactHeld]),
        Case(fault: .ignoresDecline, differ: [.contactDeclined], reactionTimeouts: [.contactDeclined: .seconds(2)]),
        Case(fault: .forgetsRevocation, differ: [.contactRevoked]),
        Case(fault: .unprovenRevocation, differ: [.contactRevoked]),
        Case(fault: .neverLimits, differ: [.contactLimit]),
        Case(fault: .absentIsGone, differ: [.contactNoPhone]),
    ]

    private static let all = requests + frames + linked

    @Test("Each fault is detected by its own checks only", arguments: all)
    func faults(_ expected: Case) async throws {
        let servesLinked = Self.linked.contains { $0.fault == expected.fault }
        try await FaultyRelay.run(expected.fault, token: Self.token, servesLinked: servesLinked) { port in
            var options = CheckOptions.testing
            options.isSlow = true
            options.token = BearerToken(Self.token.utf8)
            options.reactionTimeouts.merge(expected.reactionTimeouts) { $1 }
            var report = try await check("ws://127.0.0.1:\(port)", options)
            // A busy computer cannot measure delays.
            for _ in 0..<5 {
                guard expected.differ == [.roundTrip], case .skipped? = report.outcome(.roundTrip) else { break }
                report = try await check("ws://127.0.0.1:\(port)", options)
            }
            #expect(Set(report.differing) == expected.differ, "\(report.complaints)")
            #expect(report.prevented.isEmpty == !expected.prevents, "\(report.complaints)")
            // Each check may need its own tunnel, which is the maximum of a run.
            #expect(report.connections < 90)
            let isSerious = expected.differ.contains { $0.level == .required }
            #expect(report.verdict == (isSerious ? .differs : .conforms))
        }
    }

    @Test("Each fault has a case")
    func complete() {
        #expect(Set(Self.all.map(\.fault)) == Set(Fault.allCases))
    }

    @Test("Each check except those of TLS detects a fault")
    func allChecks() {
        let touched = Self.all.reduce(into: Set<CheckID>()) { $0.formUnion($1.differ) }
        #expect(Set(CheckID.allCases).subtracting(touched) == [.tlsCertificate, .tlsVersion])
    }

    @Test("Without a fault, nothing differs", arguments: [nil, token], [false, true])
    func faultless(token: String?, servesLinked: Bool) async throws {
        try await FaultyRelay.run(nil, token: token, servesLinked: servesLinked) { port in
            var options = CheckOptions.testing
            options.isSlow = true
            options.token = token.flatMap { BearerToken($0.utf8) }
            let report = try await check("ws://127.0.0.1:\(port)", options)
            #expect(report.complaints == [])
            #expect(report.connections == (token == nil ? 40 : 41) + (servesLinked ? 22 : 1))
            let linked = report.results.drop { $0.id != .listenProof }
            let isSkipped = linked.map { $0.outcome == .skipped("not offered: /cable/listen was answered 404") }
            #expect(isSkipped == Array(repeating: !servesLinked, count: 11))
        }
    }

    @Test("410 is correct for a relay that serves linked phones")
    func contactOffered() async throws {
        try await FaultyRelay.run(.contactIsGone) { port in
            var options = CheckOptions.testing
            options.offersContact = true
            let report = try await check("ws://127.0.0.1:\(port)", options)
            #expect(report.complaints == [])
        }
    }
}
