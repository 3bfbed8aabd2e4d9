// SPDX-License-Identifier: Apache-2.0

import Glibc
import IntegrationTestSupport
import Logging
import NIOCore
import NIOSSL
import Testing

@testable import HybridRelayCore

/// A relay whose loops run on the calling thread and only when a test says so, with socket pairs in place of TCP.
///
/// Must be used on one thread only.
final class HandDrivenRelay {
    let context: RelayContext
    let loops: [Reactor]
    private(set) var now = NIODeadline.now()
    private var ends: [WireEnd] = []

    init(
        loops count: Int = 1,
        transport: SocketSecurity = .plaintext,
        balancers: [AddressBlock] = [],
        contactHost: String? = LinkedPhone.host,
        push: PushGateway? = nil,
        limits change: (inout RelayLimits) -> Void = { _ in }
    ) throws {
        // The relay's own times, which no busy machine delays here.
        var limits = RelayLimits()
        limits.sweepInterval = .milliseconds(20)
        limits.headTime = .seconds(60)
        change(&limits)
        var configuration = RelayConfiguration(
            listen: [],
            transport: transport,
            limits: limits,
            node: TestRelay.node
        )
        configuration.balancers = balancers
        configuration.contactHost = contactHost
        configuration.push = push
        let context = RelayContext(
            configuration: configuration,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let start = now
        let mailboxes = try (0..<count).map { _ in try LoopMailbox() }
        loops = mailboxes.enumerated().map { index, mailbox in
            let helper = mailboxes.dropFirst(index + 1).first
            return Reactor(context, mailbox, isAccepting: index == 0, helper: helper, now: start)
        }
        self.context = context
    }

    deinit { for loop in loops { loop.closeAll() } }

    var bufferedBytes: Int { context.registry.budget.bytes }
    var connections: Int { context.admission.connections }

    // MARK: Time

    /// Runs one loop once; returns false if there was nothing to do.
    @discardableResult
    func turn(_ loop: Int) -> Bool { loops[loop].turn(waiting: 0, now: now) }

    /// Runs all loops, and TLS at all ends that read, until there is nothing to do.
    func settle() throws {
        for _ in 0..<100_000 {
            var isBusy = false
            for loop in loops.indices where turn(loop) { isBusy = true }
            for end in ends { isBusy = try end.pump() || isBusy }
            if !isBusy { return }
        }
        Issue.record("the loops do not come to rest")
    }

    /// Runs one loop once, as if it was busy for part of some time, and idle for the rest.
    ///
    /// - Returns: False if there was nothing to do.
    @discardableResult
    func turn(_ loop: Int, busy: TimeAmount, of time: TimeAmount) -> Bool {
        now = now + time - busy
        let hasWorked = turn(loop)
        now = now + busy
        loops[loop].recordTurn(until: now)
        return hasWorked
    }

    /// Lets time pass and checks all deadlines.
    func advance(by time: TimeAmount) throws {
        now = now + time
        for loop in loops { loop.sweep(now: now) }
        try settle()
    }

    // MARK: Ends

    /// Opens a connection without sending anything.
    ///
    /// - Parameter buffer: Size of the kernel's buffer for what the relay sends, in bytes.
    func connect(
        onLoop loop: Int = 0,
        tls: NIOSSLContext? = nil,
        from address: SocketAddress? = nil,
        buffer: CInt? = nil
    ) throws -> WireEnd {
        let (near, far) = try BlockingSocket.pair()
        if var buffer {
            setsockopt(far, SOL_SOCKET, SO_SNDBUF, &buffer, socklen_t(MemoryLayout<CInt>.size))
        }
        let end = try WireEnd(near, tls: tls, far: far)
        ends.append(end)
        loops[loop].adopt(far, from: address)
        return end
    }

    /// Connects a phone and returns it with its routing ID.
    func phone(
        onLoop loop: Int = 0,
        tls: NIOSSLContext? = nil,
        buffer: CInt? = nil,
        tunnel: String = UpgradeRequestTests.tunnel,
        glued: [UInt8] = []
    ) throws -> (end: WireEnd, routing: String) {
        let end = try connect(onLoop: loop, tls: tls, buffer: buffer)
        try settle()
        try end.send(WireEnd.request(tunnel: tunnel) + glued)
        try settle()
        return (end, try WireEnd.routing(in: try #require(end.takeHead(), "the relay has responded")))
    }

    /// Connects a client and returns it with the head of the response.
    func client(
        _ routing: String,
        onLoop loop: Int = 0,
        tls: NIOSSLContext? = nil,
        buffer: CInt? = nil,
        tunnel: String = UpgradeRequestTests.tunnel,
        glued: [UInt8] = []
    ) throws -> (end: WireEnd, head: String) {
        let end = try connect(onLoop: loop, tls: tls, buffer: buffer)
        try settle()
        try end.send(WireEnd.request(routing: routing, tunnel: tunnel) + glued)
        try settle()
        return (end, try #require(end.takeHead(), "the relay has responded"))
    }

    /// Opens a tunnel and returns both ends.
    func pair(
        tls: NIOSSLContext? = nil,
        buffer: CInt? = nil,
        tunnel: String = UpgradeRequestTests.tunnel
    ) throws -> (phone: WireEnd, client: WireEnd) {
        let (phone, routing) = try phone(tls: tls, buffer: buffer, tunnel: tunnel)
        let (client, head) = try client(routing, tls: tls, buffer: buffer, tunnel: tunnel)
        try #require(head.hasPrefix("HTTP/1.1 101 "))
        return (phone, client)
    }

    /// Sends bytes; those that the relay does not read now are sent when it does.
    ///
    /// - Returns: The number of bytes on the wire that the relay has read; less than all if it has paused.
    @discardableResult
    func flood(_ end: WireEnd, _ bytes: [UInt8]) throws -> Int {
        let before = end.unread
        let wire = try end.wire(bytes)
        end.enqueue(wire: wire)
        try settle()
        return before + wire.count - end.unread
    }
}
