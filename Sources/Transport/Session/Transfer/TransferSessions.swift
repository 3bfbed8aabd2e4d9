// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE

// A transfer has the stages of a sign-in up to the handshake. The receiver is the client, the giver the authenticator:
//
//     receiver                      relay                   giver
//        │ shows the code ─────────── camera ─────── scans it │
//        │                            │ ←────── opens a tunnel │
//        │ ←───────────────────── Bluetooth ────── advertises │
//        │ handshake 1 ─────────────────────→ verifies it,    │
//        │                              withdraws the advert  │
//        │ ←──────────────────────────────────── handshake 2  │
//        │ JSON ←──────────────────────────────────────→ JSON │
//        │ shutdown ←──────────────────────────────→ shutdown │

extension AuthenticatorSession {
    /// Performs a transfer as the giver, with the receiver whose code was scanned.
    ///
    /// The stages up to the handshake are those of ``serve(_:linking:info:handlers:)``. Nothing is sent but handshake
    /// message 2 until `body` sends something. The transfer ends when `body` returns or throws.
    ///
    /// - Parameters:
    ///   - code: The scanned code.
    ///   - events: Called with each event.
    ///   - body: The giver's side of the transfer.
    /// - Throws: ``AuthenticatorSessionFailure``, `CancellationError`, and errors of `body`.
    public func give<Outcome: Sendable>(
        to code: TransferCode,
        events: @escaping @Sendable (AuthenticatorEvent) -> Void,
        _ body: @escaping @Sendable (TransferChannel) async throws -> Outcome
    ) async throws -> Outcome {
        let outcome: Result<Outcome, any Error> = try await AuthenticatorSessionFailure.wrappingTransfer {
            try await withClient(code.keys, events) { verified in
                try await verified.completeTransferHandshake()
                let channel = TransferChannel(
                    verified.channel,
                    verified.handshakeHash,
                    over: verified.transport.kind,
                    AuthenticatorSessionFailure.self
                )
                return await channel.run(body)
            }
        }
        return try outcome.get()
    }
}

extension ClientSession {
    /// Performs a transfer as the receiver, with the giver who scans the code.
    ///
    /// The first event is ``ClientEvent/transferCodeReady(_:)``. The transfer ends when `body` returns or throws.
    ///
    /// - Parameters:
    ///   - purpose: The purpose, which the code names.
    ///   - events: Called with each event.
    ///   - body: The receiver's side of the transfer, which sends the first message.
    /// - Throws: ``ClientFailure``, `CancellationError`, and errors of `body`.
    public func receive<Outcome: Sendable>(
        for purpose: TransferPurpose,
        events: @escaping @Sendable (ClientEvent) -> Void,
        _ body: @escaping @Sendable (TransferChannel) async throws -> Outcome
    ) async throws -> Outcome {
        let code = ShownCode(purpose: purpose, channels: offeredChannels)
        let outcome: Result<Outcome, any Error> = try await ClientFailure.wrappingTransfer {
            try await withPhone(code, events: events) { phone, kind in
                let channel = TransferChannel(phone.channel, phone.handshakeHash, over: kind, ClientFailure.self)
                return await channel.run(body)
            }
        }
        return try outcome.get()
    }
}
