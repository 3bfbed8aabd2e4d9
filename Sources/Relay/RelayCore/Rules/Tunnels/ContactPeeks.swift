// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Contacts that were answered at once because their phone does not listen at this node, for some seconds.
///
/// A load balancer sends a contact to a first node and, if the phone does not listen there, to a second one. If it
/// does not listen there either, the contact returns to the first one, where it waits for the phone. So a node answers
/// each contact at once only as often as the load balancer says. That repeats a request without a change, so the node
/// has to remember it. If more contacts are remembered than there is room for, the oldest ones are answered at once
/// again.
struct ContactPeeks: Sendable {
    private struct Contact: Hashable {
        let digest: ContactDigest
        let payload: Int
    }

    /// Maximum number of contacts that are remembered, of 41 bytes each.
    static let capacity = 8192
    /// Time after which a contact is another attempt of its client, which is made at once.
    private static let lifetime = TimeAmount.seconds(5)

    /// Contacts in two generations; the older one is dropped when the younger one is full or has its age.
    private var younger: [Contact: UInt8] = [:]
    private var older: [Contact: UInt8] = [:]
    private var began = NIODeadline.uptimeNanoseconds(0)

    /// Number of remembered contacts.
    var count: Int { younger.count + older.count }

    /// Returns true if a contact is to be answered at once, and remembers it; false if it has been, `times` times.
    mutating func answersAtOnce(
        _ digest: ContactDigest,
        payload: Int,
        times: UInt8 = 1,
        now: NIODeadline
    ) -> Bool {
        if now - began >= Self.lifetime || younger.count >= Self.capacity / 2 {
            older = now - began >= Self.lifetime * 2 ? [:] : younger
            (younger, began) = ([:], now)
        }
        let contact = Contact(digest: digest, payload: payload)
        let answers = younger.removeValue(forKey: contact) ?? older.removeValue(forKey: contact) ?? 0
        guard answers < times else { return false }
        younger[contact] = answers + 1
        return true
    }
}
