// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import HybridCaBLE
internal import HybridPrimitives
internal import NIOCore

/// A sign-in with both ends.
extension CheckRun {
    /// Lengths of the messages after the handshake, in turns, like those of a real sign-in.
    private static let lengths = [300, 80, 500, 400, 1000, 500, 4000, 20]

    /// Signs in, and returns the time of each stage until the first failure.
    func signIn() async -> SignInReport {
        var report = SignInReport()
        var stage = SignInStage.connect
        do throws(ProbeError) {
            try await signIn(&report, &stage)
        } catch {
            report.failure = (stage, error.outcome(after: options.timeout).found)
        }
        return report
    }

    private func signIn(_ report: inout SignInReport, _ stage: inout SignInStage) async throws(ProbeError) {
        let start = NIODeadline.now()
        let tunnel = TunnelID.random()
        let (phone, opened) = try await request(.new(tunnel), as: .open, &report, &stage)
        guard let routing = opened.routingID else { throw .malformed("no valid routing ID") }
        report.region = routing.node.region
        report.certificateExpiry = await phone.recorded(\.certificateValidity)?.end
        let (client, _) = try await request(.connect(routing, tunnel), as: .join, &report, &stage)
        var time = NIODeadline.now()
        func finish(_ next: SignInStage) {
            let now = NIODeadline.now()
            report.times.append((stage, .nanoseconds((now - time).nanoseconds)))
            (time, stage) = (now, next)
        }
        stage = .handshake
        var channels = try await handshake(client: client, phone: phone)
        finish(.messages)
        try await converse(&channels, client: client, phone: phone)
        finish(.close)
        try await client.send(.close, [0x03, 0xE8], by: deadline)
        let last = try await phone.nextEvent(by: deadline)
        guard last == .close(1000) else { throw .malformed("\(last.name) instead of close code 1000") }
        finish(.total)
        report.times.append((.total, .nanoseconds((NIODeadline.now() - start).nanoseconds)))
    }

    /// Connects and sends the request of one end.
    private func request(
        _ path: TunnelPath,
        as requested: SignInStage,
        _ report: inout SignInReport,
        _ stage: inout SignInStage
    ) async throws(ProbeError) -> (ProbeSocket, ProbeResponse) {
        stage = .connect
        let start = NIODeadline.now()
        let request = ProbeRequest(path.text)
        let pending = try await send(request, isClient: requested == .join)
        report.times.append((.connect, .nanoseconds((pending.sent - start).nanoseconds)))
        stage = requested
        let answer = try await answer(to: request, pending)
        if answer.response.status == 401 { throw .needsToken(hasSentOne: options.token != nil) }
        guard answer.response.status == 101 else {
            throw .malformed("\(path.name) was answered \(answer.response.summary)")
        }
        report.times.append((requested, .nanoseconds((NIODeadline.now() - pending.sent).nanoseconds)))
        return (answer.socket, answer.response)
    }

    /// Makes the handshake of a phone that has scanned the client's code.
    private func handshake(
        client: ProbeSocket,
        phone: ProbeSocket
    ) async throws(ProbeError) -> SignInChannels {
        let key = P256.KeyAgreement.PrivateKey()
        let secret = [UInt8].random(PSK.length)
        do {
            let initiator = try InitiatorHandshake(clientKey: key, psk: PSK(checked: secret), ephemeral: .init())
            let first = try await pass(initiator.message1.bytes, from: client, to: phone)
            let responder = ResponderHandshake(
                clientKey: key.publicKey,
                psk: PSK(checked: secret),
                ephemeral: .init()
            )
            let answer = try responder.answer(HandshakeMessage(checked: first))
            let second = try await pass(answer.message2.bytes, from: phone, to: client)
            let keys = try initiator.finish(HandshakeMessage(checked: second))
            return SignInChannels(client: keys.open(), phone: answer.takeKeys().open())
        } catch let error as ProbeError {
            throw error
        } catch {
            throw .malformed("the handshake failed: \(error)")
        }
    }

    private func converse(
        _ channels: inout SignInChannels,
        client: ProbeSocket,
        phone: ProbeSocket
    ) async throws(ProbeError) {
        do {
            for (index, length) in Self.lengths.enumerated() {
                let message = [UInt8].random(length)
                let received: [UInt8]
                if index.isMultiple(of: 2) {
                    let frame = try channels.client.sealer.seal(message)
                    let bytes = try await pass(frame.bytes, from: client, to: phone)
                    received = try channels.phone.opener.open(Frame(bytes: bytes))
                } else {
                    let frame = try channels.phone.sealer.seal(message)
                    let bytes = try await pass(frame.bytes, from: phone, to: client)
                    received = try channels.client.opener.open(Frame(bytes: bytes))
                }
                guard received == message else { throw ProbeError.malformed("a message arrived changed") }
            }
        } catch let error as ProbeError {
            throw error
        } catch {
            throw .malformed("a message did not decrypt: \(error)")
        }
    }

    /// Sends a message from one end, and returns it as it arrives at the other, which has the same length.
    private func pass(
        _ bytes: [UInt8],
        from sender: ProbeSocket,
        to receiver: ProbeSocket
    ) async throws(ProbeError) -> [UInt8] {
        try await sender.send(.binary, bytes, by: deadline)
        let event = try await receiver.nextEvent(by: deadline)
        guard case .message(let received) = event, received.count == bytes.count else {
            throw .malformed("\(event.name) instead of a message of \(bytes.count) bytes")
        }
        return received
    }
}

/// The encrypted channels of both ends.
private struct SignInChannels: ~Copyable {
    var client: ChannelCrypter
    var phone: ChannelCrypter
}

extension TunnelPath {
    /// The path without IDs.
    fileprivate var name: String {
        switch self {
        case .new: "/cable/new"
        case .connect: "/cable/connect"
        case .contact: "/cable/contact"
        case .listen: "/cable/listen"
        }
    }
}
