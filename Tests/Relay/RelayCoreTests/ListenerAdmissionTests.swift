// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import Logging
import NIOCore
import Testing

@testable import HybridRelayCore

@Suite("Admission of linked phones and of clients that contact them")
struct ListenerAdmissionTests {
    private let now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private let phone = LinkedPhone()

    private func admission(
        tokens: TunnelTokens? = nil,
        offersContacts: Bool = true,
        _ change: (inout RelayLimits) -> Void = { _ in }
    ) -> AdmissionControl {
        var limits = RelayLimits()
        change(&limits)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return AdmissionControl(limits: limits, tokens: tokens, offersContacts: offersContacts, logger: logger)
    }

    /// A connection and the result of its request.
    private struct Requested {
        let connection: AdmittedConnection
        let refusal: UpgradeRefusal?
    }

    private func request(
        _ head: [UInt8],
        from number: Int = 7,
        _ admission: AdmissionControl,
        now: NIODeadline? = nil
    ) throws -> Requested {
        let address = try SocketAddress(ipAddress: "198.51.100.\(number)", port: 40_000)
        var connection = try admission.admitConnection(from: address, now: now ?? self.now)
        let request = try UpgradeRequest(parsing: head)
        do throws(UpgradeRefusal) {
            try admission.admit(request, on: &connection, now: now ?? self.now)
            return Requested(connection: connection, refusal: nil)
        } catch {
            return Requested(connection: connection, refusal: error)
        }
    }

    @Test("refuses both without a contact host, before it asks for a token")
    func notOffered() throws {
        let (_, line) = try TunnelTokens.make(name: "anna")
        let tokens = try TunnelTokens(parsing: Array(line.utf8))
        let admission = admission(tokens: tokens, offersContacts: false)
        for head in [phone.listenRequest(), phone.contactRequest()] {
            #expect(try request(head, admission).refusal == .contactNotOffered)
        }
    }

    @Test("requires a token of phones that listen, but not of clients")
    func tokens() throws {
        let (token, line) = try TunnelTokens.make(name: "anna")
        let admission = admission(tokens: try TunnelTokens(parsing: Array(line.utf8)))
        #expect(try request(phone.listenRequest(), admission).refusal == .tokenMissing)
        let wrong = phone.listenRequest(adding: ["Authorization: Bearer abc"])
        #expect(try request(wrong, admission).refusal == .tokenWrong)
        let right = phone.listenRequest(adding: ["Authorization: Bearer \(token)"])
        #expect(try request(right, admission).refusal == nil)
        #expect(try request(phone.contactRequest(), admission).refusal == nil)
        admission.drain()
        #expect(try request(right, admission).refusal == .draining)
        #expect(try request(phone.contactRequest(), admission).refusal == .draining)
    }

    @Test("limits the phones that listen, in total and for each source, and counts those that leave")
    func limits() throws {
        let admission = admission { ($0.listeners, $0.listenersPerSource) = (5, 3) }
        let first = try (0..<3).map { _ in try request(phone.listenRequest(), admission) }
        #expect(first.allSatisfy { $0.refusal == nil })
        #expect(try request(phone.listenRequest(), admission).refusal == .tooManyRequests)
        #expect(try request(UpgradeRequestTests.head(), admission).refusal == nil, "sign-ins have their own limit")
        #expect(try request(phone.contactRequest(), admission).refusal == nil)
        for number in 1...2 { #expect(try request(phone.listenRequest(), from: number, admission).refusal == nil) }
        #expect(try request(phone.listenRequest(), from: 3, admission).refusal == .full)
        admission.removeConnection(first[0].connection)
        #expect(try request(phone.listenRequest(), admission).refusal == nil)
        admission.removeConnection(first[1].connection)
        #expect(try request(phone.listenRequest(), from: 3, admission).refusal == nil)
        #expect(try request(phone.listenRequest(), from: 4, admission).refusal == .full)
    }

    @Test("limits how many phones begin to listen at once and in a minute")
    func herd() throws {
        let admission = admission { ($0.listeners, $0.listenersPerMinute) = (1_000, 120) }
        func admitted(at time: NIODeadline) throws -> Int {
            try (1...40).count { try request(phone.listenRequest(), from: $0, admission, now: time).refusal == nil }
        }
        #expect(try admitted(at: now) == 4)
        #expect(try request(phone.listenRequest(), from: 50, admission).refusal == .tooManyListeners)
        #expect(try admitted(at: now + .seconds(1)) == 2)
        #expect(try admitted(at: now + .seconds(60)) == 4)
    }

    @Test("leaves the second half of the rate of phones that begin to listen to sources that open few tunnels")
    func scarceRate() throws {
        let admission = admission {
            // Sixty at once.
            ($0.listenersPerMinute, $0.listenersPerSource, $0.newPerMinuteAndSource) = (1_800, 0, 100)
        }
        var taken = 0
        while taken < 60, try request(phone.listenRequest(), admission).refusal == nil { taken += 1 }
        #expect(taken == 31)
        #expect(try request(phone.listenRequest(), admission).refusal == .tooManyListeners)
        #expect(try request(phone.listenRequest(), from: 8, admission).refusal == nil)
    }

    @Test("refuses the pages of other websites by default")
    func pages() throws {
        #expect(RelayConfiguration(listen: [], transport: .plaintext).checksOrigin)
        let page = UpgradeRequestTests.head(adding: ["Origin: https://evil.example"])
        #expect(try request(page, admission()).refusal == .forbiddenOrigin)
        #expect(
            try request(phone.listenRequest(adding: ["Origin: https://evil.example"]), admission()).refusal
                == .forbiddenOrigin
        )
        #expect(
            try request(UpgradeRequestTests.head(adding: ["Origin: wss://cable.example"]), admission()).refusal == nil
        )
    }

    @Test("counts a failed proof like a wrong token")
    func failedProofs() throws {
        let admission = admission { $0.newPerMinuteAndSource = 0 }
        var count = 0
        while count < 1000, let end = try? request(phone.listenRequest(), admission) {
            admission.recordFailedProof(of: end.connection, now: now)
            admission.removeConnection(end.connection)
            count += 1
        }
        #expect(count == 130, "failures use up half of 240 connections, at twelve each")
    }
}
