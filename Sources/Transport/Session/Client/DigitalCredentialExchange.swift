// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
internal import HybridDataChannel
internal import HybridPrimitives

extension ClientSession {
    /// Performs one exchange about digital credentials: one request and one reply, both JSON in UTF-8 (CTAP 2.3).
    ///
    /// The stages up to the first message are those of a ceremony. The phone's features must include `dc`.
    ///
    /// - Parameters:
    ///   - request: The body of the request, at most `ChannelMessage.maximumBodyLength` bytes.
    ///   - hint: The hint in the QR code: `presentCredential` or `issueCredential`.
    ///   - events: Called with each event.
    /// - Returns: The body of the reply, which is not validated.
    /// - Throws: ``ClientFailure``, `CancellationError`.
    public func present(
        _ request: [UInt8],
        hint: RequestHint,
        events: @escaping @Sendable (ClientEvent) -> Void
    ) async throws -> [UInt8] {
        try await withPhone(shownCode(hint: hint), events: events) { phone, _ in
            let wallet = try await phone.receiveWallet(timeouts.handshake)
            events(.waitingForUser)
            let reply = try await wallet.exchange(request, timeouts.untilAnswered)
            events(.answered)
            return reply
        }
    }
}

extension ConnectedPhone {
    /// Receives the phone's first message, which must offer digital credentials.
    func receiveWallet(_ limit: Duration) async throws -> ReadyWallet {
        let message = try await withDeadline(limit, orThrow: ClientFailure.phoneSilent) {
            try await channel.receivePostHandshake()
        }
        guard message.features.contains(.digitalCredentials) else {
            await channel.shutDown()
            throw ClientFailure.phoneLacksDigitalCredentials
        }
        return ReadyWallet(channel: channel)
    }
}

/// Stage 4 with digital credentials: the phone accepts one request.
struct ReadyWallet: Sendable {
    let channel: EncryptedChannel

    /// Sends the request and returns the reply; in all cases *shutdown* is sent at the end.
    func exchange(_ request: [UInt8], _ limit: Duration) async throws -> [UInt8] {
        try await withCleanup(channel.shutDown) {
            try await channel.send(.json(request))
            return try await withDeadline(limit, orThrow: ClientFailure.userTimedOut) {
                for _ in 0...ReadyPhone.maximumUpdates {
                    switch try await channel.receiveFromPhone() {
                    case .json(let reply): return reply
                    case .update: continue
                    case .shutdown: throw TunnelError.closed(code: 1000)
                    case .ctap: throw ClientFailure.phoneMisbehaved("it answered with CTAP instead of JSON")
                    }
                }
                throw ClientFailure.phoneMisbehaved("it sends too many updates")
            }
        }
    }
}
