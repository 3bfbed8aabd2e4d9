// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

// From the PROXY header to the upgrade or refusal.
extension RelayConnection {
    /// Maximum number of bytes that are read and dropped after a refusal.
    private static let maximumDrop = 256 << 10

    private func received(upTo end: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: loop.buffers.plaintext[LoopBuffers.headroom..<end])
    }

    // MARK: PROXY header

    /// Reads the header of a load balancer's connection, which precedes TLS and HTTP.
    ///
    /// If the header is malformed, the connection is closed. Otherwise, the load balancer's own address would count as
    /// the source of its connections.
    func readProxyHeader(upTo end: Int) {
        let all = received(upTo: end)
        let result: (header: ProxyHeader, length: Int)?
        do throws(ProxyViolation) {
            result = try ProxyHeaderReader.read(all.bytes)
        } catch {
            loop.context.admission.recordRejection(.proxy)
            return close()
        }
        guard let (header, length) = result else { return socket.keepInput(all.bytes, until: 0) }
        guard admit(from: header.source) else { return close() }
        role = .head(RequestHeadReader(maximumLength: limits.headBytes))
        startTransport()
        guard isReading, length < all.count else { return }
        if let tls = socket.tls {
            tls.keep(all.bytes.extracting(length..<all.count))
            processKeptCiphertext()
        } else {
            readHead(from: LoopBuffers.headroom + length, upTo: end)
        }
    }

    // MARK: Request head

    /// Reads the request head, and the frames after it, because a client need not wait for the response.
    func readHead(from start: Int = LoopBuffers.headroom, upTo end: Int) {
        let all = UnsafeRawBufferPointer(rebasing: loop.buffers.plaintext[start..<end])
        guard case .head(var reader) = role else { return }
        do throws(UpgradeRefusal) {
            guard let length = try reader.length(of: all.bytes) else {
                role = .head(reader)
                return socket.keepInput(all.bytes, until: 0)
            }
            guard let request = try request(parsing: Array(copying: all.bytes.extracting(0..<length))) else {
                // Not parsed again for each piece of early data, but once from its beginning.
                role = .head(RequestHeadReader(maximumLength: limits.headBytes))
                return socket.keepInput(all.bytes, until: .max)
            }
            guard var connection = admitted else { return close() }
            try loop.context.admission.admit(request, on: &connection, now: loop.now)
            admitted = connection
            try upgrade(request)
            switch role {
            case .moving, .contacting: socket.keepInput(all.bytes.extracting(length..<all.count), until: 0)
            case .tunnel(let tunnel): readFrames(of: tunnel, from: start + length, upTo: end)
            case .listening(let phone): readFrames(of: phone, from: start + length, upTo: end)
            case .proxyHeader, .head, .closing, .closed: break
            }
        } catch {
            refuse(error)
        }
    }

    /// Makes the connection an end of a tunnel or a listener, or prepares its move to the event loop of the end that it
    /// joins.
    private func upgrade(_ request: UpgradeRequest, hasMoved: Bool = false) throws(UpgradeRefusal) {
        guard let id else { return }
        let member = TunnelMember(mailbox: loop.mailbox, connection: id)
        let subscription = try pushSubscription(for: request)
        switch try loop.context.registry.upgrade(member, for: request, now: loop.now) {
        case .opened(let key, let closeInstructions):
            role = .tunnel(TunnelEnd(key, .phone, sharedLimits, now: loop.now))
            deadline = nil
            write(request.response(routing: key.routing))
            loop.carryOut(closeInstructions)
        case .joined(let key, let side, let waiting):
            guard let waiting = loop.connection(waiting) else { return close() }
            let end = TunnelEnd(key, side, sharedLimits, now: loop.now)
            end.pair(with: waiting)
            role = .tunnel(end)
            startHandshakeDeadline()
            write(request.response(routing: nil))
            waiting.pair(with: self)
        case .contacting(let key, let instructions):
            let end = TunnelEnd(key, .client, sharedLimits, now: loop.now)
            role = .contacting(ContactRequestState(request, end))
            deadline = nil
            loop.carryOut(instructions)
            if let subscription { push(request, in: key, to: subscription) }
        case .challenged(let contact): challenge(contact, request)
        case .elsewhere(let destination):
            // The end was found on this event loop's second attempt, too, so it is another one than before.
            guard !hasMoved else { throw .unknownTunnel }
            role = .moving(ConnectionHandOver(to: destination, request))
        }
    }

    /// Continues on the event loop of the end that waits.
    ///
    /// If that has left in the meantime, the request is refused.
    func continueAfterMove() {
        guard case .moving(let move) = role else { return }
        do throws(UpgradeRefusal) {
            try upgrade(move.request, hasMoved: true)
            processPendingInput()
        } catch {
            refuse(error)
        }
        update()
    }

    // MARK: Refusal

    /// Sends a refusal as the last bytes of the connection.
    func refuse(_ refusal: UpgradeRefusal) {
        guard let admitted else { return }
        loop.context.admission.recordRefusal(refusal, of: admitted, now: loop.now)
        // A peer without keys could not read the response.
        if let tls = socket.tls, !tls.isEstablished, !tls.isInEarlyData { return close() }
        finish(Array(refusal.response.utf8), dropping: Self.maximumDrop)
    }
}

/// The move of an end to the event loop of the other one, after its request has been admitted and before it joins.
final class ConnectionHandOver {
    let destination: LoopMailbox
    let request: UpgradeRequest

    init(to destination: LoopMailbox, _ request: UpgradeRequest) {
        (self.destination, self.request) = (destination, request)
    }
}

/// A connection on its way to another event loop.
struct ConnectionInTransit: @unchecked Sendable {
    // SAFETY of @unchecked: the sender has removed the connection from its event loop and its epoll instance, and does
    // not use it after posting the message. No other connection refers to it, because it has no tunnel yet. The mailbox's
    // lock orders the accesses of the two threads.
    let connection: RelayConnection

    init(_ connection: RelayConnection) { self.connection = connection }
}
