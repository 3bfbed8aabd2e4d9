// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE

/// A revocation of a contact ID: the phone's key and the signature of its statement, which clients verify.
struct Revocation: Hashable, Sendable {
    let key: ContactPublicKey
    let signature: ContactSignature
}

/// Revocations of contact IDs, at most a given number, in two generations.
///
/// When the younger generation has half of the capacity, it becomes the older one, and the older one is dropped. A
/// revocation that is requested or repeated moves to the younger one. So those that no client requests are dropped
/// first. The table is only in memory: phones repeat their revocations after a restart of the relay. A revocation takes
/// about 300 bytes.
struct RevocationTable: Sendable {
    /// Maximum number of revocations.
    var capacity: Int
    private var younger: [ContactDigest: Revocation] = [:]
    private var older: [ContactDigest: Revocation] = [:]

    init(capacity: Int) { self.capacity = capacity }

    /// Number of revocations.
    var count: Int { younger.count + older.count }

    /// Accesses a revocation, which then counts as recently used.
    subscript(contact: ContactDigest) -> Revocation? {
        mutating get {
            if let revocation = younger[contact] { return revocation }
            guard let revocation = older[contact] else { return nil }
            insert(revocation, for: contact)
            return revocation
        }
    }

    /// Adds or replaces a revocation.
    mutating func insert(_ revocation: Revocation, for contact: ContactDigest) {
        older[contact] = nil
        guard capacity > 0 else { return }
        if younger[contact] == nil, younger.count >= max(1, capacity / 2) { (older, younger) = (younger, [:]) }
        younger[contact] = revocation
    }
}
