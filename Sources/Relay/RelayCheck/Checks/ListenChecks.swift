// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import HybridPrimitives
internal import NIOCore

/// Checks of the connection on which a linked phone waits for wake-ups.
extension CheckRun {
    /// A host whose signatures no relay accepts (RFC 2606 §2).
    private static let otherHost = "elsewhere.invalid"

    /// Makes the check on which those of linked phones depend.
    func listenProof() async throws(ProbeError) -> CheckOutcome {
        do throws(ProbeError) {
            _ = try await provenListener(ContactKey())
            listening = .success(())
            return .ok("accepted for \(contactHost)")
        } catch {
            listening = .failure(error.asPremise(after: options.timeout, ProbeError.noListener))
            guard case .malformed(let what) = error else { throw error }
            return .differs("\(what) (with signatures for \(contactHost); --contact-host names another host)")
        }
    }

    /// Signs another challenge than the relay's.
    func listenBadProof() async throws(ProbeError) -> CheckOutcome {
        try await wrongProof(changesChallenge: true)
    }

    /// Listens for the contact ID of another key.
    func listenOtherKey() async throws(ProbeError) -> CheckOutcome {
        try await wrongProof(contact: ContactKey().publicKey.contactID)
    }

    /// Presents a signature that a phone made for another relay.
    func listenOtherHost() async throws(ProbeError) -> CheckOutcome {
        try await wrongProof(host: Self.otherHost)
    }

    /// Sends a proof with one deviation, which the relay must not accept.
    private func wrongProof(
        contact: ContactID? = nil,
        host: String? = nil,
        changesChallenge: Bool = false
    ) async throws(ProbeError) -> CheckOutcome {
        if case .failure(let error) = listening { throw error }
        let key = ContactKey()
        let contact = contact ?? key.publicKey.contactID
        let opened = try await openListening(contact)
        let bytes = changesChallenge ? opened.challenge.bytes.map { ~$0 } : opened.challenge.bytes
        guard let challenge = ListenChallenge(bytes: bytes) else { throw .malformed("no challenge") }
        let signature = key.sign(.listen(host: host ?? contactHost, challenge, contact))
        try await say(.own(key.publicKey, signature), over: opened.socket)
        do throws(ProbeError) {
            let event = try await opened.socket.nextEvent(by: deadline)
            if case .close = event { return .ok(event.name) }
            return .differs(event == .message(ListenMessage.ok.encoded) ? "it was accepted" : event.name)
        } catch {
            guard case .disconnected = error else { throw error }
            return .ok("the connection ended")
        }
    }

    func listenReplaced() async throws(ProbeError) -> CheckOutcome {
        let older = try await listener()
        let newer = try await listener(older.key)
        _ = try await contact(newer, try samplePayload())
        let last = NIODeadline.now() + TimeAmount(options.reactionTimeout(of: .listenReplaced))
        guard let event = try await newer.socket.eventIfAny(by: min(deadline, last)) else {
            return .differs("the newer connection received no wake-up")
        }
        guard case .message = event else { return .differs("\(event.name) on the newer connection") }
        do throws(ProbeError) {
            let event = try await older.socket.nextEvent(by: min(deadline, last))
            guard case .close = event else { return .differs("\(event.name) on the older connection") }
            return .ok("the older connection: \(event.name)")
        } catch {
            guard case .disconnected = error else { throw error }
            return .ok("the older connection ended")
        }
    }
}
