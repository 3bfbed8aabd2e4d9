// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE

/// A revocation of a contact ID: the phone's key and the signature of its statement, which clients verify.
struct Revocation: Hashable, Sendable {
    let key: ContactPublicKey
    let signature: ContactSignature
}

/// Revocations of contact IDs, at most a given number.
///
/// Anybody can create keys and revoke their contact IDs. So those that a client has requested have half of the capacity
/// to themselves, and the others cannot displace them. Among each half, those that are neither requested nor repeated
/// are dropped first. The table is only in memory: phones repeat their revocations after a restart of the relay. A
/// revocation takes about 300 bytes.
struct RevocationTable: Sendable {
    /// Revocations in two generations.
    ///
    /// When the younger generation has half of the capacity, it becomes the older one, and the older one is dropped.
    private struct Generations {
        private var younger: [ContactDigest: Revocation] = [:]
        private var older: [ContactDigest: Revocation] = [:]

        var count: Int { younger.count + older.count }

        mutating func remove(_ contact: ContactDigest) -> Revocation? {
            younger.removeValue(forKey: contact) ?? older.removeValue(forKey: contact)
        }

        mutating func insert(_ revocation: Revocation, for contact: ContactDigest, capacity: Int) {
            older[contact] = nil
            guard capacity > 0 else { return }
            if younger[contact] == nil, younger.count >= max(1, capacity / 2) { (older, younger) = (younger, [:]) }
            younger[contact] = revocation
        }
    }

    /// Maximum number of revocations.
    var capacity: Int
    private var requested = Generations()
    private var others = Generations()

    init(capacity: Int) { self.capacity = capacity }

    /// Number of revocations.
    var count: Int { requested.count + others.count }

    /// Accesses a revocation that a client requests.
    subscript(contact: ContactDigest) -> Revocation? {
        mutating get {
            guard let revocation = requested.remove(contact) ?? others.remove(contact) else { return nil }
            requested.insert(revocation, for: contact, capacity: capacity / 2)
            return revocation
        }
    }

    /// Adds or replaces a revocation.
    mutating func insert(_ revocation: Revocation, for contact: ContactDigest) {
        if requested.remove(contact) != nil {
            requested.insert(revocation, for: contact, capacity: capacity / 2)
        } else {
            others.insert(revocation, for: contact, capacity: capacity / 2)
        }
    }
}
