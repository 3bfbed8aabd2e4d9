// SPDX-License-Identifier: Apache-2.0

internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridDataChannel

/// Where clients come by radio: anybody near can, so nobody's failure ends anything.
///
/// Who connects has proved nothing, not even to have seen the code. A few may try at one time, each for a short time, and
/// no more than a number of them altogether; each trial is a handshake of its own, whose keys nobody gets to know. The
/// time is short also because the kernel takes the advert off the air while somebody is connected.
struct L2CAPAcceptor: Sendable {
    /// Most who try at one time.
    static let mostAtOnce = 4
    /// Most who may try.
    static let most = 32
    /// How long one usually has for its first message.
    static let patience = Duration.seconds(5)

    private enum Step: Sendable {
        case came(L2CAPSocket)
        case verified(VerifiedClient)
        case left
    }

    private let listener: L2CAPListener
    private let patience: Duration

    init(_ listener: L2CAPListener, patience: Duration) { (self.listener, self.patience) = (listener, patience) }

    /// Waits for a client that verifies; `nil` when too many came who did not, or the radio takes no more.
    func awaitClient(
        _ verify: @escaping @Sendable (HandshakeMessage, Transport) throws(HandshakeError) -> VerifiedClient
    ) async throws -> VerifiedClient? {
        try await withThrowingTaskGroup(of: Step.self) { group in
            defer { group.cancelAll() }
            var (seen, inside, isWaiting) = (0, 0, false)
            while true {
                if !isWaiting, inside < Self.mostAtOnce, seen < Self.most {
                    isWaiting = true
                    group.addTask { .came(try await listener.next()) }
                }
                do {
                    switch try await group.next() {
                    case .came(let socket)?:
                        (seen, inside, isWaiting) = (seen + 1, inside + 1, false)
                        // Who comes now is refused by the kernel, and need not wait to find out that nobody listens.
                        if seen == Self.most { listener.close() }
                        group.addTask { await listen(to: socket, verify) }
                    case .verified(let client)?: return client
                    case .left?: inside -= 1
                    case nil: return nil
                    }
                } catch is L2CAPError {
                    // Who is inside already may still verify.
                    (seen, isWaiting) = (Self.most, false)
                    listener.close()
                }
            }
        }
    }

    private func listen(
        to socket: L2CAPSocket,
        _ verify: @escaping @Sendable (HandshakeMessage, Transport) throws(HandshakeError) -> VerifiedClient
    ) async -> Step {
        guard let channel = try? L2CAPChannel(socket) else { return .left }
        do {
            let message1 = try await withDeadline(patience, orThrow: AuthenticatorSessionFailure.noClient) {
                try await channel.receive { HandshakeMessage(bytes: $0.bytes) }
            }
            return .verified(try verify(message1, .radio(channel)))
        } catch {
            await channel.close()
            return .left
        }
    }
}
