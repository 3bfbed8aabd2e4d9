// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import Logging
import NIOCore
import TestSupport

@testable import HybridRelayCore

/// Runs phones and clients that connect to two loops of a relay, send, violate rules, wait and leave in any order.
///
/// Some are linked: clients contact phones, which prove contact IDs, get wake-ups, join, decline and revoke.
///
/// Each end must get a response, then its peer's messages in order and unchanged, then one close frame and nothing more.
/// Afterwards, the relay must hold neither tunnels nor connections nor bytes.
func fuzzRelay(_ input: [UInt8]) throws -> Bool { try fuzzRelay(input, hasTLS: false) }

/// Does the same with TLS: new and resumed sessions with early data, records in pieces, and bytes that are no records.
func fuzzRelayTLS(_ input: [UInt8]) throws -> Bool { try fuzzRelay(input, hasTLS: true) }

private func fuzzRelay(_ input: [UInt8], hasTLS: Bool) throws -> Bool {
    var choices = Choices(input)
    let relay = try RelayUnderTest(hasSmallBudget: choices.flag(), hasTLS: hasTLS)
    defer { relay.stop() }
    for _ in 0..<60 where !choices.isEmpty { try relay.step(&choices) }
    return try relay.finish()
}

/// A relay whose loops run on the calling thread, with socket pairs.
final class RelayUnderTest {
    static let maximumMessage = 100_000
    private static let balancer = "192.0.2.1"

    private let log = EndLog()
    private let relay: RelayContext
    let loops: [Reactor]
    private var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
    var ends: [RelayEnd] = []
    var linked = LinkedEnds()
    /// The tickets of the ends; `nil` without TLS.
    private let tickets: EndTLS.Tickets?

    init(hasSmallBudget: Bool, hasTLS: Bool) throws {
        tickets = hasTLS ? EndTLS.Tickets() : nil
        var limits = RelayLimits()
        limits.tunnels = 5
        limits.tunnelBytes = 150_000
        limits.messageBytes = Self.maximumMessage
        if hasSmallBudget { limits.bufferedBytes = 20_000 }
        var configuration = RelayConfiguration(
            listen: [],
            transport: hasTLS ? EndTLS.relay : .plaintext,
            limits: limits,
            node: 0x0A0B
        )
        configuration.balancers = [try AddressBlock(parsing: Self.balancer)]
        configuration.contactHost = LinkedEnds.host
        let log = log
        let relay = RelayContext(
            configuration: configuration,
            logger: Logger(label: "fuzz") { _ in CountingHandler(log: log) }
        )
        let start = now
        loops = try (0..<2).map { _ in Reactor(relay, try LoopMailbox(), isAccepting: true, helper: nil, now: start) }
        self.relay = relay
    }

    func step(_ choices: inout Choices) throws {
        let kind = choices.number(below: 16)
        if kind == 15 {
            try linkedStep(&choices)
        } else if kind < 3 || ends.isEmpty {
            try connect(isPhone: kind != 1, &choices)
        } else {
            try act(kind, of: choices.pick(ends), &choices)
        }
        // Otherwise, the next step meets a relay with unread input or a connection in transit.
        if choices.number(below: 4) != 3 { try settle() }
        try invariant(relay.registry.budget.bytes >= 0, "no bytes are released twice")
    }

    private func act(_ kind: Int, of end: RelayEnd, _ choices: inout Choices) throws {
        switch kind {
        case 3...6: try send(Self.message(&choices), by: end, in: choices.pick([1 << 20, 1 << 20, 1000, 7]))
        case 7:
            let payload = choices.bytes(choices.number(below: 126))
            try send(ClientFrames.frame(choices.pick([9, 10]), payload), by: end, in: 1 << 20)
        case 8:
            let code = choices.pick([[], [3, 232], [3, 233], [3, 237], [1], [15, 160, 65]] as [[UInt8]])
            try send(ClientFrames.frame(8, code), by: end, in: 1 << 20)
        case 9:
            let bytes = choices.bytes(choices.number(below: 64))
            if tickets != nil, choices.flag() { return end.writeRaw(bytes[...]) }
            try send(bytes, by: end, in: 1 + choices.number(below: 64))
        case 10: end.isReading.toggle()
        case 11:
            now = now + .seconds(choices.pick([0, 1, 5, 24, 25, 60, 119, 300]))
            for loop in loops { loop.sweep(now: now) }
        case 12: end.close()
        case 13: end.halfClose()
        case 14: _ = loops[choices.number(below: 2)].turn(waiting: 0, now: now)
        default: break
        }
    }

    func send(_ bytes: [UInt8], by end: RelayEnd, in size: Int) throws {
        guard end.isAccepted else { return }
        end.recordSent(bytes)
        try write(bytes, by: end, in: size)
    }

    /// Writes bytes in pieces, between which both loops run.
    func write(_ bytes: [UInt8], by end: RelayEnd, in size: Int) throws {
        for piece in bytes.pieces(of: bytes.count / max(size, 1) > 300 ? 1000 : size) {
            end.write(piece)
            _ = try turn()
        }
    }

    /// Runs each loop once; returns false if there was nothing to do.
    private func turn() throws -> Bool {
        var isBusy = false
        for loop in loops where loop.turn(waiting: 0, now: now) { isBusy = true }
        for end in ends where try end.transfer() { isBusy = true }
        return isBusy
    }

    /// Runs the loops until there is nothing to do.
    func settle() throws {
        var turns = 0
        while try turn() {
            turns += 1
            try invariant(turns < 100_000, "the loops come to rest")
        }
    }

    /// Returns an end and the descriptor for the relay.
    func pair(tunnel: String, _ choices: inout Choices) throws -> (end: RelayEnd, descriptor: CInt) {
        let tls = try tickets.map { try EndTLS($0, resumes: choices.flag()) }
        let pair = try RelayEnd.pair(tunnel: tunnel, maximumMessage: Self.maximumMessage, tls: tls)
        if tls != nil { pair.end.pace = choices.pick([1 << 20, 1 << 20, 1000, 50, 7]) }
        return pair
    }

    /// Opens a connection.
    ///
    /// A client requests the tunnel of an earlier phone, or one that does not exist.
    private func connect(isPhone: Bool, _ choices: inout Choices) throws {
        guard ends.count < 12 else { return }
        let tunnel = String(repeating: choices.flag() ? "1" : "2", count: 32)
        let phones = ends.filter { $0.routing != nil }
        let phone = isPhone || phones.isEmpty ? nil : choices.pick(phones)
        let path =
            isPhone
            ? "/cable/new/\(tunnel)" : "/cable/connect/\(phone?.routing ?? "0a0c77")/\(phone?.tunnel ?? tunnel)"
        let (end, descriptor) = try pair(tunnel: phone?.tunnel ?? tunnel, &choices)
        let loop = loops[choices.number(below: 2)]
        let isProxied = choices.number(below: 4) == 3
        let isDamaged = choices.number(below: 8) == 7
        // An end need not wait for the response.
        let early = choices.flag() ? Self.message(&choices) : []
        let size = choices.pick([1 << 20, 1 << 20, 50, 7])
        loop.adopt(descriptor, from: isProxied ? try SocketAddress(ipAddress: Self.balancer, port: 1) : nil)
        ends.append(end)
        let header = isProxied ? "PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n" : ""
        let head = RelayEnd.head(path: path, key: isDamaged ? "x" : "dGhlIHNhbXBsZSBub25jZQ==")
        end.recordSent(early)
        if tickets != nil { end.writeRaw(Array(header.utf8)[...]) }
        try write(Array(((tickets == nil ? header : "") + head).utf8) + early, by: end, in: size)
        try settle()
        guard !isPhone, let phone, end.isAccepted else { return }
        // The random byte of a phone that has left may be reused. The waiting phone is the latest one.
        let joined = ends.last { $0.routing == phone.routing && $0.tunnel == phone.tunnel } ?? phone
        try invariant(joined.peer == nil, "a phone is joined at most once")
        (joined.peer, end.peer) = (end, joined)
    }

    /// Closes all connections and checks that nothing is left.
    ///
    /// Returns true if two ends were paired.
    func finish() throws -> Bool {
        for end in ends { end.isReading = true }
        // A sweep resumes ends that were paused for the common budget, and closes those that exhaust it for long.
        for _ in 0..<4 {
            try settle()
            now = now + .seconds(6)
            for loop in loops { loop.sweep(now: now) }
        }
        try settle()
        for end in ends { try end.checkBeforeClosing() }
        try linked.check()
        for end in ends { end.close() }
        try settle()
        for end in ends { try end.check() }
        try invariant(relay.admission.connections == 0, "no connection is left")
        try invariant(loops.allSatisfy { $0.connectionCount == 0 }, "no loop has a connection")
        try invariant(relay.registry.budget.bytes == 0, "no bytes are buffered")
        try invariant(relay.registry.counts == (0, 0, 0, 0, 0), "no tunnel, wake-up or listener is left")
        let opened = ends.count { $0.routing != nil }
        try invariant(log.ended >= opened, "every opened tunnel ends")
        try invariant(log.ended <= ends.count, "every tunnel ends once")
        return ends.contains { $0.peer != nil }
    }

    func stop() { for loop in loops { loop.closeAll() } }

    /// Returns a client's message in one or two frames.
    static func message(_ choices: inout Choices) -> [UInt8] {
        let length = choices.pick([0, 1, 5, 20, 125, 126, 127, 300, 1000, 2000, 5000, 9000, 40_000, 70_000, 100_001])
        let (offset, key) = (choices.number(below: 256), [7, 1, 2, 255] as [UInt8])
        guard choices.number(below: 4) == 3 else {
            return ClientFrames.filled(2, length: length, from: offset, isFinal: true, key: key)
        }
        let first = choices.number(below: length + 1)
        return ClientFrames.filled(2, length: first, from: offset, isFinal: false, key: key)
            + ClientFrames.filled(0, length: length - first, from: offset + first, isFinal: true, key: key)
    }
}

/// Number of ended tunnels in the relay's log.
private final class EndLog: @unchecked Sendable {
    // SAFETY of @unchecked: both loops run on the only thread.
    var ended = 0
}

private struct CountingHandler: LogHandler {
    let log: EndLog
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    init(log: EndLog) { self.log = log }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        if event.message == "tunnel ended" { log.ended += 1 }
    }
}
