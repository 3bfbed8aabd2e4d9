// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridPrimitives
import NIOCore
import Testing

@testable import HybridRelayCore

/// A contact table in a class, since expectations cannot contain mutating calls.
///
/// Members are numbers.
final class ContactTableUnderTest {
    static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private(set) var table: ContactTable<Int>

    init(_ change: (inout RelayLimits) -> Void = { _ in }) {
        var limits = RelayLimits()
        change(&limits)
        table = ContactTable(limits: limits)
    }

    /// Returns a contact ID of a phone, distinguished by a number.
    static func contact(_ number: UInt8) throws -> ContactDigest {
        let id = try #require(ContactID(bytes: [1] + [UInt8](repeating: number, count: 24)))
        return try #require(ContactDigest(id))
    }

    /// Returns the key of a tunnel, distinguished by a number.
    static func key(_ number: Int) throws -> TunnelIdentity {
        let tunnel = TunnelID(bytes: bytes(number) + bytes(0))
        return TunnelIdentity(routing: RoutingID(node: 1, check: 2), tunnel: try #require(tunnel))
    }

    private static func bytes(_ number: Int) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }

    func listen(_ contact: ContactDigest, by member: Int) -> (id: ListenerID, orders: [Order]) {
        let (id, instructions) = table.listen(for: contact, by: member)
        return (id, instructions.map(Order.init))
    }

    func stop(_ contact: ContactDigest, _ id: ListenerID) { table.stopListening(for: contact, id) }

    /// Requests a contact ID and returns the orders, or `nil` if the request is refused.
    func request(_ contact: ContactDigest, key: Int, by client: Int, now: NIODeadline = start) throws -> [Order]? {
        guard table.refusal(of: contact, now: now) == nil else { return nil }
        let payload = try #require(ClientPayload(bytes: Self.bytes(key)))
        return table.addRequest(for: contact, payload, in: try Self.key(key), by: client, now: now).map(Order.init)
    }

    func refusal(_ contact: ContactDigest, now: NIODeadline = start) -> UpgradeRefusal? {
        table.refusal(of: contact, now: now)
    }

    func remove(_ key: Int) throws -> WakeUpState? { table.remove(try Self.key(key)) }

    func revoke(_ contact: ContactDigest) throws -> [TunnelIdentity] {
        table.revoke(contact, with: try Self.revocation())
    }

    func sweep(now: NIODeadline) -> [TunnelIdentity] { table.sweep(now: now) }

    static func revocation() throws -> Revocation {
        let key = try #require(ContactPublicKey(bytes: [UInt8](repeating: 7, count: 32)))
        return Revocation(key: key, signature: try #require(ContactSignature(bytes: [UInt8](repeating: 8, count: 64))))
    }

    /// An instruction in a form that tests compare.
    enum Order: Hashable {
        case accept(Int)
        /// A wake-up for the tunnel of the key with this number.
        case wake(Int, number: UInt32, key: Int)
        case replaced(Int)

        init(_ instruction: ContactTable<Int>.Instruction) {
            switch instruction.order {
            case .accept: self = .accept(instruction.member)
            case .wake(let wakeUp):
                let key = wakeUp.payload.bytes.reduce(0) { $0 << 8 | Int($1) }
                self = .wake(instruction.member, number: wakeUp.number, key: key)
            case .replaced: self = .replaced(instruction.member)
            }
        }
    }
}
