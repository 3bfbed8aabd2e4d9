// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import Logging
import NIOCore
import NIOEmbedded

@testable import HybridRelayCore

/// Runs phones and clients that connect, send, violate rules and leave in any order, with the relay's real handlers.
///
/// Each end must get a response, then its peer's messages in order and unchanged, then one close frame and nothing more.
func fuzzRelay(_ input: [UInt8]) throws -> Bool {
    var choices = Choices(input)
    let relay = RelayUnderTest()
    for _ in 0..<60 where !choices.isEmpty { try relay.step(&choices) }
    return try relay.close()
}

/// A relay without sockets.
private final class RelayUnderTest {
    private let loop = EmbeddedEventLoop()
    private let log = EndLog()
    private let registry: TunnelRegistry
    private let admission: AdmissionControl
    private let timers: ConnectionTimers
    private var limits = RelayLimits()
    private var ends: [RelayEnd] = []

    init() {
        limits.tunnels = 5
        limits.tunnelBytes = 150_000
        limits.messageBytes = 100_000
        let log = log
        let logger = Logger(label: "fuzz") { _ in CountingHandler(log: log) }
        registry = TunnelRegistry(node: 0x0A0B, limits: limits, logger: logger)
        admission = AdmissionControl(limits: limits, logger: logger)
        timers = ConnectionTimers(registry: registry, admission: admission, eventLoop: loop)
    }

    func step(_ choices: inout Choices) throws {
        let kind = choices.number(below: 12)
        if kind < 3 || ends.isEmpty {
            try connect(isPhone: kind != 1, &choices)
            return
        }
        let end = choices.pick(ends)
        switch kind {
        case 3...6: try end.send(Self.message(&choices), in: choices.pick([1 << 20, 1 << 20, 1000, 7]))
        case 7:
            try end.send(
                ClientFrames.frame(choices.pick([9, 10]), choices.bytes(choices.number(below: 126))),
                in: 1 << 20
            )
        case 8:
            let code = choices.pick([[], [3, 232], [3, 233], [3, 237], [1], [15, 160, 65]] as [[UInt8]])
            try end.send(ClientFrames.frame(8, code), in: 1 << 20)
        case 9: try end.send(choices.bytes(choices.number(below: 64)), in: 1 + choices.number(below: 64))
        case 10: end.toggleWritability()
        default:
            if choices.flag() { timers.sweep() } else { end.close() }
        }
        loop.run()
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
        let handler = TunnelHandler(registry: registry, admission: admission, limits: limits, timers: timers)
        let end = try RelayEnd(handler, loop: loop, tunnel: phone?.tunnel ?? tunnel)
        ends.append(end)
        let isDamaged = choices.number(below: 8) == 7
        let head = Array(RelayEnd.head(path: path, key: isDamaged ? "x" : "dGhlIHNhbXBsZSBub25jZQ==").utf8)
        // An end need not wait for the response.
        let early = choices.flag() ? Self.message(&choices) : []
        try end.request(head, early, in: choices.pick([1 << 20, 1 << 20, 50, 7]))
        if !isPhone, let phone, end.isAccepted {
            // The random byte of a phone that has left may be reused. The waiting phone is the latest one.
            let joined = ends.last { $0.routing == phone.routing && $0.tunnel == phone.tunnel } ?? phone
            try invariant(joined.peer == nil, "a phone is joined at most once")
            (joined.peer, end.peer) = (end, joined)
        }
        loop.run()
    }

    /// Closes all connections.
    ///
    /// Returns true if two ends were paired.
    func close() throws -> Bool {
        for end in ends { try end.checkBeforeClosing() }
        for end in ends { end.close() }
        loop.run()
        for end in ends { try end.check() }
        let opened = ends.count { $0.routing != nil }
        try invariant(log.ended == opened, "every opened tunnel ends once")
        return ends.contains { $0.peer != nil }
    }

    /// Returns a client's message in one or two frames.
    private static func message(_ choices: inout Choices) -> [UInt8] {
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
    // SAFETY of @unchecked: an embedded event loop runs on the only thread.
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
