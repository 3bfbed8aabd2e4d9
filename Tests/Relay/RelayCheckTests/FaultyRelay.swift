// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import Testing

/// Faults of a relay.
enum Fault: String, CaseIterable {
    case refusesNew, wrongUpgradeField, wrongAccept, noSubprotocolChosen, subprotocolTwice
    case noRoutingID, shortRoutingID, twoRoutingIDs
    case refusesConnect, letsSecondJoin, letsUnknownJoin, ignoresRoutingID, caseMatters
    case takesMalformed, malformedIs404, takesNoSubprotocol, noUpgradeIs400, notGetIs400, unknownPathIs200
    case contactIsGone, refusesOrigin, agreesToDeflate, refusesSecondNew
    case changesBytes, sendsText, swapsMessages, closesAbove16K, losesEarly, closesAtEighthEarly
    /// Three kinds of delay. Without TCP_NODELAY, the second of two messages or the second half of each waits for the
    /// acknowledgment of the first; or the relay itself is slow.
    case waitsForAcknowledgement, waitsInsideMessages, delaysMessages
    case ignoresPings, changesPong, losesCloseCode, hidesEndFromClient, hidesEndFromPhone
    case passesText, takesUnmasked, passesOversized, waitsForHead, ignoresToken
    /// Faults of a relay that serves linked phones.
    case refusesProof, acceptsAnySignature, acceptsAnyKey, acceptsAnyHost, keepsOlderListener
    case changesPayload, signalsNothing, losesClientsEarly, holdsNothing, ignoresDecline
    case forgetsRevocation, unprovenRevocation, neverLimits, absentIsGone
}

/// A minimal relay with one fault, for tests; all connections use one event loop.
final class FaultyRelay {
    /// Number of requests with any token.
    final class TokenCount: Sendable {
        private let number = Atomic<Int>(0)

        var value: Int { number.load(ordering: .relaxed) }

        func note() { number.add(1, ordering: .relaxed) }
    }

    private(set) var waiting: [String: FaultyEnd] = [:]
    let fault: Fault?
    /// The token required to open a tunnel, if any.
    let token: String?
    /// The linked phones, if the relay serves any.
    let contacts: FaultyContacts?
    private let tokenCount: TokenCount

    private init(_ fault: Fault?, _ token: String?, _ tokenCount: TokenCount, contacts: FaultyContacts?) {
        (self.fault, self.token, self.tokenCount, self.contacts) = (fault, token, tokenCount, contacts)
    }

    /// Runs a relay while `body` runs, which receives its port.
    static func run(
        _ fault: Fault?,
        token: String? = nil,
        tokenCount: TokenCount = TokenCount(),
        servesLinked: Bool = false,
        tls: NIOSSLContext? = nil,
        _ body: (Int) async throws -> Void
    ) async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let relay = try await eventLoop.submit {
            let contacts = servesLinked ? FaultyContacts(fault) : nil
            return NIOLoopBound(FaultyRelay(fault, token, tokenCount, contacts: contacts), eventLoop: eventLoop)
        }.get()
        let isStalling = fault == .waitsForAcknowledgement || fault == .waitsInsideMessages
        let server = try await ServerBootstrap(group: eventLoop)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: isStalling ? 0 : 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try channel.pipeline.syncOperations.addHandler(FaultyEnd(relay.value))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        do {
            try await body(port)
        } catch {
            try await server.close()
            throw error
        }
        try await server.close()
    }

    func open(_ key: String, by end: FaultyEnd) { waiting[key] = end }

    func noteToken() { tokenCount.note() }

    func forget(_ end: FaultyEnd) {
        for (key, value) in waiting where value === end { waiting[key] = nil }
        contacts?.forget(end)
    }
}

/// One connection to the relay.
final class FaultyEnd: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let largest = 1 << 20
    private let relay: FaultyRelay
    private var context: ChannelHandlerContext?
    private var received: [UInt8] = []
    private var isUpgraded = false
    private var isPhone = false
    private var isOver = false
    private var peer: FaultyEnd?
    private var early: [(opcode: UInt8, payload: [UInt8])] = []
    private var held: [UInt8]?
    /// True for a client that waits for a linked phone.
    private var isContact = false
    /// Receives messages in place of a peer.
    var onMessage: (([UInt8]) -> Void)?

    init(_ relay: FaultyRelay) { self.relay = relay }

    private func has(_ fault: Fault) -> Bool { relay.fault == fault }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += unwrapInboundIn(data).readableBytesView
        if !isUpgraded { readRequest() }
        if isUpgraded { readFrames() }
        guard !isUpgraded, !received.isEmpty, !has(.waitsForHead) else { return }
        let me = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: .milliseconds(300)) {
            let end = me.value
            if !end.isUpgraded { end.context?.close(promise: nil) }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.context = nil
        relay.forget(self)
        guard let peer, !isOver else { return }
        if !(isPhone && has(.hidesEndFromClient)) && !(!isPhone && has(.hidesEndFromPhone)) { peer.close(1001) }
        self.peer = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func write(_ bytes: [UInt8]) {
        context?.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }

    // MARK: The request

    private func readRequest() {
        let text = String(decoding: received, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n") else { return }
        received.removeFirst(text[..<end.upperBound].utf8.count)
        var lines = text[..<end.lowerBound].split(separator: "\r\n").map(String.init)
        let words = lines.removeFirst().split(separator: " ").map(String.init)
        var fields: [String: String] = [:]
        for line in lines {
            guard let colon = line.firstRange(of: ": ") else { continue }
            fields[line[..<colon.lowerBound].lowercased()] = String(line[colon.upperBound...])
        }
        answer(method: words[0], path: words[1], fields)
    }

    private func answer(method: String, path: String, _ fields: [String: String]) {
        var parts = path.split(separator: "/").map(String.init)
        if let authorization = fields["authorization"] {
            relay.noteToken()
            // Only phones' requests that open a tunnel or wait for wake-ups may contain the token.
            guard ["new", "listen"].contains(parts.dropFirst().first), authorization.hasPrefix("Bearer ") else {
                return refuse(400)
            }
        }
        if let token = relay.token, path.hasPrefix("/cable/new/"), !has(.ignoresToken) {
            guard fields["authorization"] == "Bearer " + token else { return refuse(401) }
        }
        guard method == "GET" else { return refuse(has(.notGetIs400) ? 400 : 405) }
        let isListening = parts.count == 3 && parts[1] == "listen" && relay.contacts != nil
        guard parts.count >= 3, parts[0] == "cable", isListening || ["new", "connect", "contact"].contains(parts[1])
        else {
            return refuse(has(.unknownPathIs200) ? 200 : 404)
        }
        guard parts[1] != "contact" || relay.contacts != nil else { return refuse(has(.contactIsGone) ? 410 : 404) }
        guard let key = fields["sec-websocket-key"], fields["upgrade"] == "websocket" else {
            return refuse(has(.noUpgradeIs400) ? 400 : 426)
        }
        if let contacts = relay.contacts {
            if isListening { return contacts.listen(self, parts[2], key) }
            let payload = fields["x-cable-client-payload"] ?? ""
            if parts[1] == "contact" { return contacts.contact(self, parts[2], payload: payload, key) }
        }
        let isOffered = fields["sec-websocket-protocol"] == "fido.cable"
        guard isOffered || has(.takesNoSubprotocol) else { return refuse(400) }
        guard fields["origin"] == nil || !has(.refusesOrigin) else { return refuse(403) }
        let lengths = parts[1] == "new" ? [32] : [6, 32]
        let isWellFormed =
            parts.dropFirst(2).map(\.count) == lengths
            && parts.dropFirst(2).joined().allSatisfy(\.isHexDigit)
        guard isWellFormed || has(.takesMalformed) else { return refuse(has(.malformedIs404) ? 404 : 400) }
        if !has(.caseMatters) { parts = parts.map { $0.lowercased() } }
        let deflate = has(.agreesToDeflate) && fields["sec-websocket-extensions"] != nil
        if parts[1] == "new" {
            open(tunnel: parts[2], key: key, deflate: deflate)
        } else {
            join(routing: parts[2], tunnel: parts[3], key: key)
        }
    }

    private func open(tunnel: String, key: String, deflate: Bool) {
        guard !has(.refusesNew) else { return refuse(403) }
        let isKnown = relay.waiting.keys.contains { $0.hasSuffix(tunnel) }
        guard !isKnown || !has(.refusesSecondNew) else { return refuse(409) }
        let routing = (0..<6).map { _ in String("0123456789abcdef".randomElement() ?? "0") }.joined()
        relay.open(routing + tunnel, by: self)
        isPhone = true
        var extra = "X-caBLE-Routing-ID: \(has(.shortRoutingID) ? "abc" : routing)\r\n"
        if has(.twoRoutingIDs) { extra += extra }
        if has(.noRoutingID) { extra = "" }
        if deflate { extra += "Sec-WebSocket-Extensions: permessage-deflate\r\n" }
        accept(key, extra)
    }

    private func join(routing: String, tunnel: String, key: String) {
        guard !has(.refusesConnect) else { return refuse(500) }
        let exact = relay.waiting[routing + tunnel].map { _ in routing + tunnel }
        let similar = has(.ignoresRoutingID) ? relay.waiting.keys.first { $0.hasSuffix(tunnel) } : nil
        let name = exact ?? similar
        guard let phone = name.flatMap({ relay.waiting[$0] }), phone.peer == nil || has(.letsSecondJoin) else {
            if has(.letsUnknownJoin), name == nil { return accept(key, "") }
            return refuse(404)
        }
        accept(key, "")
        (peer, phone.peer) = (phone, self)
        if phone.isContact, !has(.signalsNothing) { phone.send([0]) }
        if !has(.losesEarly), !(phone.isContact && has(.losesClientsEarly)) {
            for message in phone.early { deliver(message.opcode, message.payload) }
        }
        phone.early = []
    }

    func refuse(_ status: Int, _ fields: String = "") {
        write(Array("HTTP/1.1 \(status) Refused\r\n\(fields)Content-Length: 0\r\n\r\n".utf8))
    }

    func accept(_ key: String, _ extra: String = "", subprotocol: String = "fido.cable") {
        isUpgraded = true
        let upgrade = has(.wrongUpgradeField) ? "h2c" : "websocket"
        let value = has(.wrongAccept) ? "AAAA" : Accept.value(for: key)
        var chosen = "Sec-WebSocket-Protocol: \(subprotocol)\r\n"
        if has(.subprotocolTwice) { chosen += chosen }
        if has(.noSubprotocolChosen) { chosen = "" }
        let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: \(upgrade)\r\nConnection: Upgrade\r\n"
        write(Array((head + "Sec-WebSocket-Accept: \(value)\r\n" + chosen + extra + "\r\n").utf8))
    }

    // MARK: Frames

    private func readFrames() {
        while !isOver, received.count >= 2 {
            let isMasked = received[1] & 0x80 != 0
            guard isMasked || has(.takesUnmasked) else { return violated(1002) }
            let short = Int(received[1] & 0x7F)
            let extra = short == 126 ? 2 : short == 127 ? 8 : 0
            let start = 2 + extra + (isMasked ? 4 : 0)
            guard received.count >= start else { return }
            let length = extra == 0 ? short : received[2..<(2 + extra)].reduce(0) { $0 << 8 | Int($1) }
            guard length <= Self.largest || has(.passesOversized) else { return violated(1009) }
            guard length <= 16 << 10 || !has(.closesAbove16K) else { return violated(1009) }
            guard received.count >= start + length else { return }
            var payload = Array(received[start..<(start + length)])
            if isMasked {
                let mask = Array(received[(start - 4)..<start])
                payload.withUnsafeMutableBufferPointer { body in
                    for index in body.indices { body[index] ^= mask[index & 3] }
                }
            }
            let opcode = received[0] & 0x0F
            received.removeFirst(start + length)
            take(opcode, payload)
        }
    }

    private func take(_ opcode: UInt8, _ payload: [UInt8]) {
        switch opcode {
        case 2 where onMessage != nil: onMessage?(payload)
        case 1 where !has(.passesText): violated(1003)
        case 1, 2:
            if let peer {
                peer.deliver(opcode, payload)
            } else {
                early.append((opcode, payload))
                if has(.closesAtEighthEarly), early.count == 8 { close(1008) }
            }
        case 8:
            if let peer {
                if has(.losesCloseCode) { peer.close(1001) } else { peer.finish(payload) }
            }
            finish(payload)
        case 9:
            if !has(.ignoresPings) { write(Self.frame(10, has(.changesPong) ? payload + [0] : payload)) }
        default: break
        }
    }

    private func deliver(_ opcode: UInt8, _ payload: [UInt8]) {
        if has(.swapsMessages) {
            guard let last = held else { return hold(payload) }
            held = nil
            write(Self.frame(opcode, payload) + Self.frame(opcode, last))
            return
        }
        var payload = payload
        if has(.changesBytes), let last = payload.indices.last { payload[last] ^= 1 }
        let frame = Self.frame(has(.sendsText) ? 1 : opcode, payload)
        if has(.waitsInsideMessages) {
            let headLength = frame.count - payload.count
            write(Array(frame[..<headLength]))
            return write(Array(frame[headLength...]))
        }
        guard has(.delaysMessages), let context else { return write(frame) }
        let me = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: .milliseconds(40)) { me.value.write(frame) }
    }

    /// Holds a message back briefly so that the next one overtakes it.
    private func hold(_ payload: [UInt8]) {
        held = payload
        guard let context else { return }
        let me = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: .milliseconds(5)) {
            guard let last = me.value.held else { return }
            me.value.held = nil
            me.value.write(Self.frame(2, last))
        }
    }

    private func violated(_ code: UInt16) {
        peer?.close(1001)
        close(code)
    }

    /// Sends a message of the relay itself.
    func send(_ message: [UInt8]) { write(Self.frame(2, message)) }

    /// Lets a linked phone join this client under its IDs.
    func wait(asContactFor key: String) {
        isContact = true
        relay.open(key, by: self)
    }

    func schedule(in time: TimeAmount, _ body: @escaping () -> Void) {
        guard let context else { return }
        let bound = NIOLoopBound(body, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: time) { bound.value() }
    }

    func close(_ code: UInt16) { finish([UInt8(code >> 8), UInt8(truncatingIfNeeded: code)]) }

    private func finish(_ payload: [UInt8]) {
        guard !isOver else { return }
        isOver = true
        relay.forget(self)
        write(Self.frame(8, payload))
        context?.close(mode: .output, promise: nil)
    }

    private static func frame(_ opcode: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let count = payload.count
        var head = [0x80 | opcode]
        switch count {
        case ...125: head.append(UInt8(count))
        case ...0xFFFF: head += [126, UInt8(count >> 8), UInt8(count & 0xFF)]
        default: head += [127] + (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) }
        }
        return head + payload
    }
}

@available(*, unavailable)
extension FaultyRelay: Sendable {}
@available(*, unavailable)
extension FaultyEnd: Sendable {}
