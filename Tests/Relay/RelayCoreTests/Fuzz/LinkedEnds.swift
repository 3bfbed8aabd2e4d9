// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridPrimitives
import TestSupport

@testable import HybridRelayCore

/// The linked phones of a relay under test, with two contact IDs.
struct LinkedEnds {
    /// The host for which phones prove their contact IDs.
    static let host = "relay.example"

    /// A phone that listens, and what it has done.
    final class Listener {
        let end: RelayEnd
        let key: ContactKey
        var hasProven = false

        init(_ end: RelayEnd, _ key: ContactKey) { (self.end, self.key) = (end, key) }

        /// Returns the messages of the relay.
        func messages() throws -> [ListenMessage] {
            try end.isAccepted ? end.receivedMessages().map { try ListenMessage(parsing: $0) } : []
        }

        /// Returns the wake-ups that the phone has received: their numbers, paths and the clients' numbers.
        func wakeUps() throws -> [(number: UInt32, path: TunnelPath, client: Int)] {
            try messages().compactMap { message in
                guard case .wake(let number, let routing, let tunnel, let payload, _) = message else { return nil }
                return (number, .connect(routing, tunnel), Int(payload.bytes[0]))
            }
        }
    }

    let keys = (1...2).compactMap { ContactKey(bytes: [UInt8](repeating: $0, count: 32)) }
    var listeners: [Listener] = []
    /// The clients that contact phones; the position of each is its payload.
    var clients: [RelayEnd] = []

    /// Checks the messages of all phones that listen.
    func check() throws {
        for listener in listeners where listener.end.isAccepted {
            let messages = try listener.messages()
            guard let first = messages.first else { continue }
            guard case .hello = first else { throw BrokenInvariant(description: "broken: a challenge comes first") }
            let wakeUps = try listener.wakeUps()
            try invariant(Set(wakeUps.map(\.path)).count == wakeUps.count, "no listener gets a wake-up twice")
            try invariant(wakeUps.isEmpty || listener.hasProven, "only a phone with a proof gets wake-ups")
            if messages.count > 1 { try invariant(messages[1] == .ok, "the confirmation precedes wake-ups") }
        }
    }
}

extension RelayUnderTest {
    /// Lets a linked phone or a client act.
    func linkedStep(_ choices: inout Choices) throws {
        switch choices.number(below: 6) {
        case 0: try listen(&choices)
        case 1, 2: try contact(&choices)
        case 3: try join(&choices)
        case 4: try answer(&choices)
        default: for loop in loops { loop.mailbox.post(.drain) }
        }
    }

    private func open(_ head: String, early: [UInt8], _ choices: inout Choices) throws -> RelayEnd {
        let (end, descriptor) = try pair(tunnel: "", &choices)
        loops[choices.number(below: 2)].adopt(descriptor, from: nil)
        ends.append(end)
        end.recordSent(early)
        try write(Array(head.utf8) + early, by: end, in: choices.pick([1 << 20, 1 << 20, 50]))
        return end
    }

    /// Connects a phone that listens, with the right proof or another one.
    private func listen(_ choices: inout Choices) throws {
        guard ends.count < 12 else { return }
        let key = choices.pick(linked.keys)
        let head = RelayEnd.head(
            path: TunnelPath.listen(key.publicKey.contactID).text,
            key: "dGhlIHNhbXBsZSBub25jZQ==",
            subprotocol: ListenMessage.subprotocol
        )
        let listener = LinkedEnds.Listener(try open(head, early: [], &choices), key)
        listener.end.isListener = true
        linked.listeners.append(listener)
        try settle()
        guard listener.end.isAccepted, case .hello(let challenge, _)? = try listener.messages().first else { return }
        let signer = choices.number(below: 4) == 3 ? choices.pick(linked.keys) : key
        let host = choices.number(below: 8) == 7 ? "cable.example" : LinkedEnds.host
        let signature = signer.sign(.listen(host: host, challenge, key.publicKey.contactID))
        listener.hasProven = host == LinkedEnds.host && signer.publicKey == key.publicKey
        let own = ListenMessage.own(key.publicKey, signature).encoded
        try write(ClientFrames.frame(2, own), by: listener.end, in: choices.pick([1 << 20, 1 << 20, 9]))
    }

    /// Connects a client that contacts a phone.
    private func contact(_ choices: inout Choices) throws {
        guard ends.count < 12 else { return }
        let key = choices.pick(linked.keys)
        let hasSignal = choices.flag()
        let signal = hasSignal ? "X-caBLE-Signal-Connection: true\r\n" : ""
        let payload = ClientPayload(bytes: [UInt8(truncatingIfNeeded: linked.clients.count)])?.hex ?? ""
        let head = RelayEnd.head(
            path: TunnelPath.contact(key.publicKey.contactID).text,
            key: "dGhlIHNhbXBsZSBub25jZQ==",
            fields: "X-caBLE-Client-Payload: \(payload)\r\n\(signal)"
        )
        let end = try open(head, early: choices.flag() ? Self.message(&choices) : [], &choices)
        end.expectsSignal = hasSignal
        linked.clients.append(end)
    }

    /// Connects a phone that joins the tunnel of a wake-up.
    private func join(_ choices: inout Choices) throws {
        guard ends.count < 12, !linked.listeners.isEmpty else { return }
        let wakeUps = try choices.pick(linked.listeners).wakeUps()
        guard !wakeUps.isEmpty else { return }
        let (_, path, number) = choices.pick(wakeUps)
        let head = RelayEnd.head(path: path.text, key: "dGhlIHNhbXBsZSBub25jZQ==")
        let end = try open(head, early: choices.flag() ? Self.message(&choices) : [], &choices)
        try settle()
        guard end.isAccepted, number < linked.clients.count else { return }
        let client = linked.clients[number]
        try invariant(client.peer == nil, "a client is joined at most once")
        (client.peer, end.peer) = (end, client)
    }

    /// Lets a phone that listens decline, revoke or send another message.
    private func answer(_ choices: inout Choices) throws {
        guard !linked.listeners.isEmpty else { return }
        let listener = choices.pick(linked.listeners)
        let contact = listener.key.publicKey.contactID
        let message: [UInt8] =
            switch choices.number(below: 8) {
            case 0...4: ListenMessage.decline(number: UInt32(choices.number(below: 5))).encoded
            case 5: ListenMessage.gone(listener.key.sign(.gone(host: LinkedEnds.host, contact))).encoded
            case 6: ListenMessage.gone(choices.pick(linked.keys).sign(.gone(host: "other.example", contact))).encoded
            default: choices.bytes(choices.number(below: 64))
            }
        let cut = choices.number(below: message.count + 1)
        let frames =
            choices.flag()
            ? ClientFrames.frame(2, message)
            : ClientFrames.frame(2, Array(message[..<cut]), isFinal: false)
                + ClientFrames.frame(0, Array(message[cut...]))
        try write(frames, by: listener.end, in: choices.pick([1 << 20, 7]))
    }
}
