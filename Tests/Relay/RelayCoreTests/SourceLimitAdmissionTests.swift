// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import Logging
import NIOCore
import Testing

@testable import HybridRelayCore

@Suite("Admission of connections and requests")
struct SourceLimitAdmissionTests {
    private let now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private func admission(
        tokens: TunnelTokens? = nil,
        countsSources: Bool = true,
        _ change: (inout RelayLimits) -> Void = { _ in }
    ) -> AdmissionControl {
        var limits = RelayLimits()
        change(&limits)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return AdmissionControl(limits: limits, tokens: tokens, countsSources: countsSources, logger: logger)
    }

    private func address(_ number: Int = 7) throws -> SocketAddress {
        try SocketAddress(ipAddress: "198.51.100.\(number)", port: 40_000)
    }

    /// Returns a connection, or the reason for rejecting it.
    private func connect(
        _ admission: AdmissionControl,
        from address: SocketAddress?,
        makeRoom: () -> Bool = { false }
    ) -> Result<AdmittedConnection, AdmissionControl.Rejection> {
        do throws(AdmissionControl.Rejection) {
            return .success(try admission.admitConnection(from: address, now: now, makeRoom: makeRoom))
        } catch {
            return .failure(error)
        }
    }

    private func rejection(
        _ admission: AdmissionControl,
        from address: SocketAddress?
    ) -> AdmissionControl.Rejection? {
        if case .failure(let rejection) = connect(admission, from: address) { rejection } else { nil }
    }

    private func refusal(
        of request: UpgradeRequest,
        on connection: inout AdmittedConnection,
        _ admission: AdmissionControl
    ) -> UpgradeRefusal? {
        do throws(UpgradeRefusal) {
            try admission.admit(request, on: &connection, now: now)
            return nil
        } catch {
            return error
        }
    }

    private func newRequest(_ fields: [String] = []) throws -> UpgradeRequest {
        try UpgradeRequest(parsing: UpgradeRequestTests.head(adding: fields))
    }

    @Test("counts neither this computer, nor unix sockets, nor unknown peers as sources")
    func uncounted() throws {
        let admission = admission { ($0.connectionsPerSource, $0.connectionsPerMinuteAndSource) = (1, 1) }
        var addresses: [SocketAddress?] = [nil, try SocketAddress(unixDomainSocketPath: "/run/x")]
        for text in ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"] {
            addresses.append(try SocketAddress(ipAddress: text, port: 1))
        }
        for address in addresses {
            for _ in 0..<20 {
                let connection = try connect(admission, from: address).get()
                for _ in 0..<20 { admission.recordRefusal(.tokenWrong, of: connection, now: now) }
            }
        }
        #expect(admission.connections == 120)
        let hidden = self.admission(countsSources: false) { $0.connectionsPerSource = 1 }
        for _ in 0..<20 { _ = try connect(hidden, from: try address()).get() }
    }

    @Test("rejects a source beyond its limits without making room for it")
    func noRoomForFloods() throws {
        let admission = admission { ($0.connections, $0.connectionsPerSource) = (2, 1) }
        for number in 1...2 { _ = try connect(admission, from: try address(number)).get() }
        #expect(throws: AdmissionControl.Rejection.source) {
            try connect(admission, from: try address(1)) {
                Issue.record("no connection needs to be closed")
                return false
            }.get()
        }
        #expect(rejection(admission, from: try address(3)) == .full)
        #expect(admission.connections == 2)
    }

    @Test("a full relay replaces a connection, and a rejected one does not count for its source")
    func room() throws {
        let admission = admission { ($0.connections, $0.connectionsPerSource) = (2, 1) }
        let first = try connect(admission, from: try address(1)).get()
        _ = try connect(admission, from: try address(2)).get()
        #expect(rejection(admission, from: try address(3)) == .full)
        var asked = 0
        _ = try connect(admission, from: try address(3)) {
            asked += 1
            admission.removeConnection(first)
            return true
        }.get()
        #expect(asked == 1)
        #expect(admission.connections == 2)
        #expect(admission.acceptedConnections == 3)
        #expect(rejection(admission, from: try address(3)) == .source)
    }

    @Test("phones take all but an eighth of the connections; a client's request needs no share")
    func phones() throws {
        let admission = admission { ($0.connections, $0.connectionsPerSource) = (16, 0) }
        var connections = try (1...16).map { try connect(admission, from: try address($0)).get() }
        for index in 0..<14 { #expect(refusal(of: try newRequest(), on: &connections[index], admission) == nil) }
        #expect(refusal(of: try newRequest(), on: &connections[14], admission) == .full)
        let path = "GET /cable/connect/000100/\(UpgradeRequestTests.tunnel) HTTP/1.1"
        let client = try UpgradeRequest(parsing: UpgradeRequestTests.head(["GET": path]))
        #expect(refusal(of: client, on: &connections[15], admission) == nil)
        admission.removeConnection(connections[14])
        admission.removeConnection(connections[15])
        var next = try connect(admission, from: try address(20)).get()
        #expect(refusal(of: try newRequest(), on: &next, admission) == .full, "no phone has left")
        admission.removeConnection(connections[0])
        #expect(refusal(of: try newRequest(), on: &next, admission) == nil)
    }

    /// By default, 240 connections in a minute, of which failures use up at most half.
    @Test(
        "refusals count as connections, unless they are not the peer's mistake",
        arguments: [
            (UpgradeRefusal.tokenWrong, 130), (.tokenMissing, 150), (.unknownTunnel, 150), (.notOurPath, 150),
            (.headTimeout, 150), (.headTooLarge, 150), (.forbiddenOrigin, 150), (.malformedKey, 150),
            (.tooManyRequests, 240), (.full, 240), (.draining, 240),
        ]
    )
    func refusals(refusal: UpgradeRefusal, admitted: Int) throws {
        let admission = admission()
        var count = 0
        while count < 1000, case .success(let connection) = connect(admission, from: try address()) {
            admission.recordRefusal(refusal, of: connection, now: now)
            admission.removeConnection(connection)
            count += 1
        }
        #expect(count == admitted)
        #expect(rejection(admission, from: try address()) == .rate)
        #expect(rejection(admission, from: try address(8)) == nil)
    }

    @Test("a wrong token uses up no tunnels, and the right one is admitted")
    func tokens() throws {
        let (token, line) = try TunnelTokens.make(name: "anna")
        let tokens = try TunnelTokens(parsing: Array(line.utf8))
        let admission = admission(tokens: tokens) { ($0.newPerMinuteAndSource, $0.connectionsPerSource) = (1, 8) }
        var connection = try connect(admission, from: try address()).get()
        let wrong = try newRequest(["Authorization: Bearer abc"])
        for _ in 0..<5 { #expect(refusal(of: wrong, on: &connection, admission) == .tokenWrong) }
        #expect(refusal(of: try newRequest(), on: &connection, admission) == .tokenMissing)
        let right = try newRequest(["Authorization: Bearer \(token)"])
        #expect(refusal(of: right, on: &connection, admission) == nil)
        var other = try connect(admission, from: try address()).get()
        #expect(refusal(of: right, on: &other, admission) == .tooManyRequests)
        admission.drain()
        #expect(refusal(of: right, on: &other, admission) == .draining)
    }

    @Test("the /64s of one /48 share its limits")
    func network() throws {
        let admission = admission { ($0.connectionsPerSource, $0.networkFactor) = (4, 2) }
        let addresses = try (1...4).map { try SocketAddress(ipAddress: "2001:db8:1:\($0)::1", port: 1) }
        for number in 0..<8 { _ = try connect(admission, from: addresses[number % 3]).get() }
        #expect(rejection(admission, from: addresses[3]) == .network)
        #expect(rejection(admission, from: try SocketAddress(ipAddress: "2001:db8:2::1", port: 1)) == nil)
    }

    @Test("a source has few clients that wait for a response, and few requests for contact IDs")
    func heldAndSeals() throws {
        let admission = admission { _ in }
        let offering = AdmissionControl(
            limits: RelayLimits(),
            offersContacts: true,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let contact = try UpgradeRequest(
            parsing: UpgradeRequestTests.head(
                ["GET": "GET /cable/contact/\(LinkedPhone().contact.base64URL) HTTP/1.1"],
                adding: ["x-cable-client-payload: A1b2"]
            )
        )
        var held = try (0..<5).map { _ in try connect(offering, from: try address()).get() }
        for index in 0..<4 { #expect(refusal(of: contact, on: &held[index], offering) == nil) }
        #expect(refusal(of: contact, on: &held[4], offering) == .tooManyRequests)
        var other = try connect(offering, from: try address(8)).get()
        #expect(refusal(of: contact, on: &other, offering) == nil)
        offering.endHold(of: &held[0])
        offering.endHold(of: &held[0])
        #expect(refusal(of: contact, on: &held[4], offering) == nil)
        offering.removeConnection(held[1])
        #expect(refusal(of: try newRequest(), on: &held[0], offering) == nil, "only contacts are held")

        let phone = try connect(admission, from: try address()).get()
        #expect(admission.admitSeal(of: phone, now: now) && admission.admitSeal(of: phone, now: now))
        #expect(!admission.admitSeal(of: phone, now: now), "two on their way")
        for _ in 0..<2 { admission.endSeal(of: phone) }
        let more = (0..<20).prefix { _ in
            guard admission.admitSeal(of: phone, now: now) else { return false }
            admission.endSeal(of: phone)
            return true
        }
        #expect(more.count == 8, "ten in a minute")
        #expect(admission.admitSeal(of: try connect(admission, from: try address(8)).get(), now: now))

        #expect((0..<40).count { _ in admission.admitRevocation(of: phone, now: now) } == 30, "thirty in a minute")
        #expect(admission.admitRevocation(of: try connect(admission, from: try address(8)).get(), now: now))
    }

    @Test("new limits apply from the next connection on")
    func reload() throws {
        let admission = admission { $0.connectionsPerSource = 1 }
        _ = try connect(admission, from: try address()).get()
        #expect(rejection(admission, from: try address()) == .source)
        var limits = RelayLimits()
        limits.connections = 2
        admission.replace(limits: limits)
        #expect(rejection(admission, from: try address()) == nil)
        #expect(rejection(admission, from: try address()) == .full)
    }
}
