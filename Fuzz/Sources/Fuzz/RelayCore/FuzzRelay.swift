// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import Logging
import NIOCore
import NIOEmbedded

@testable import HybridRelayCore

/// Phones and clients that come, speak, break rules and go in any order, at the relay's real connections: each end
/// gets an answer, then what its peer sent, in order and unchanged, then one close frame and nothing more.
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
    private let watch: ConnectionTimers
    private var limits = RelayLimits()
    private var ends: [RelayEnd] = []

    init() {
        limits.tunnels = 5
        limits.tunnelBytes = 150_000
        limits.messageBytes = 100_000
        let log = log
        let logger = Logger(label: "fuzz") { _ in CountingHandler(log: log) }
        registry = TunnelRegistry(node: 0x0A0B, limits: limits, logger: logger)
        watch = ConnectionTimers(registry: registry, eventLoop: loop)
    }

    func step(_ choices: inout Choices) throws {
        let kind = choices.number(below: 12)
        if kind < 3 || ends.isEmpty {
            try arrive(isPhone: kind != 1, &choices)
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
            if choices.flag() { watch.sweep() } else { end.hangUp() }
        }
        loop.run()
    }

    /// A connection; a client asks for the tunnel of a phone that came before, or for none there is.
    private func arrive(isPhone: Bool, _ choices: inout Choices) throws {
        guard ends.count < 12 else { return }
        let tunnel = String(repeating: choices.flag() ? "1" : "2", count: 32)
        let phones = ends.filter { $0.routing != nil }
        let phone = isPhone || phones.isEmpty ? nil : choices.pick(phones)
        let path =
            isPhone
            ? "/cable/new/\(tunnel)" : "/cable/connect/\(phone?.routing ?? "0a0c77")/\(phone?.tunnel ?? tunnel)"
        let handler = TunnelHandler(registry: registry, limits: limits, watch: watch)
        let end = try RelayEnd(handler, loop: loop, tunnel: phone?.tunnel ?? tunnel)
        ends.append(end)
        let isDamaged = choices.number(below: 8) == 7
        let head = Array(RelayEnd.head(path: path, key: isDamaged ? "x" : "dGhlIHNhbXBsZSBub25jZQ==").utf8)
        // An end need not wait for the answer.
        let eager = choices.flag() ? Self.message(&choices) : []
        try end.ask(head, eager, in: choices.pick([1 << 20, 1 << 20, 50, 7]))
        if !isPhone, let phone, end.isAccepted {
            // The random byte of a phone that is gone may be another's later: who waits now is the one that came last.
            let joined = ends.last { $0.routing == phone.routing && $0.tunnel == phone.tunnel } ?? phone
            try invariant(joined.peer == nil, "a phone is joined once")
            (joined.peer, end.peer) = (end, joined)
        }
        loop.run()
    }

    /// All hang up; whether two ends met.
    func close() throws -> Bool {
        for end in ends { try end.checkBeforeHangingUp() }
        for end in ends { end.hangUp() }
        loop.run()
        for end in ends { try end.check() }
        let opened = ends.count { $0.routing != nil }
        try invariant(log.ended == opened, "every tunnel that was opened ends once")
        return ends.contains { $0.peer != nil }
    }

    /// A message of a client of some length, whole or in two frames.
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

/// How many tunnels the relay said have ended.
private final class EndLog: @unchecked Sendable {
    // SAFETY of @unchecked: an embedded event loop runs on the one thread that there is.
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
