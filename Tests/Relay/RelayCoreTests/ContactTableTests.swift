// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import NIOCore
import Testing

@testable import HybridRelayCore

@Suite("The contact table")
struct ContactTableTests {
    private typealias Table = ContactTableUnderTest

    private let start = Table.start

    @Test("wakes a phone that listens, and accepts the client first")
    func ringing() throws {
        let table = Table()
        let phone = try Table.contact(1)
        #expect(table.listen(phone, by: 1).orders == [])
        #expect(try table.request(phone, key: 1, by: 2) == [.accept(2), .wake(1, number: 1, key: 1)])
        #expect(table.table.canJoin(try Table.key(1)))
        #expect(try table.remove(1) == .ringing)
        #expect(table.table.wakeUpCount == 0 && table.table.heldCount == 0 && table.table.listenerCount == 1)
    }

    @Test("holds a request until the phone listens")
    func held() throws {
        let table = Table()
        let phone = try Table.contact(1)
        #expect(try table.request(phone, key: 1, by: 2) == [])
        #expect(table.table.heldCount == 1)
        #expect(!table.table.canJoin(try Table.key(1)), "no phone knows the tunnel yet")
        #expect(table.listen(phone, by: 1).orders == [.accept(2), .wake(1, number: 1, key: 1)])
        #expect(table.table.canJoin(try Table.key(1)))
        #expect(table.table.heldCount == 0)
    }

    @Test("ends a held request after its time, and not before")
    func holdTime() throws {
        let table = Table()
        let phone = try Table.contact(1)
        _ = try table.request(phone, key: 1, by: 2)
        #expect(table.sweep(now: start + .milliseconds(7999)).isEmpty)
        #expect(table.sweep(now: start + .seconds(8)) == [try Table.key(1)])
        // The table itself ends no tunnel, so the request stays until its tunnel has ended.
        #expect(table.table.heldCount == 1)
        #expect(try table.remove(1) == .awaitingListener(until: start + .seconds(8)))
        #expect(table.table.heldCount == 0 && table.sweep(now: start + .minutes(1)).isEmpty)
    }

    @Test("delivers ringing wake-ups once more to a newer listener, which replaces the older one")
    func replaced() throws {
        let table = Table()
        let phone = try Table.contact(1)
        let (older, _) = table.listen(phone, by: 1)
        _ = try table.request(phone, key: 1, by: 2)
        _ = try table.request(phone, key: 2, by: 3)
        let (newer, orders) = table.listen(phone, by: 4)
        #expect(orders == [.replaced(1), .wake(4, number: 1, key: 1), .wake(4, number: 2, key: 2)])
        table.stop(phone, older)
        #expect(table.table.listenerCount == 1, "the older connection does not remove the newer one")
        #expect(table.table.declined(1, for: phone, by: older) == nil)
        #expect(table.table.declined(1, for: phone, by: newer) == (try Table.key(1)))
    }

    @Test("keeps wake-ups ringing while no phone listens")
    func lost() throws {
        let table = Table()
        let phone = try Table.contact(1)
        let (id, _) = table.listen(phone, by: 1)
        _ = try table.request(phone, key: 1, by: 2)
        table.stop(phone, id)
        #expect(table.table.canJoin(try Table.key(1)))
        #expect(table.table.listenerCount == 0)
        #expect(table.listen(phone, by: 3).orders == [.wake(3, number: 1, key: 1)])
    }

    @Test("declines only wake-ups of the phone's own contact ID that have not ended")
    func declined() throws {
        let table = Table()
        let (phone, other) = (try Table.contact(1), try Table.contact(2))
        let (id, _) = table.listen(phone, by: 1)
        let (otherID, _) = table.listen(other, by: 2)
        _ = try table.request(phone, key: 1, by: 3)
        _ = try table.request(phone, key: 2, by: 4)
        #expect(table.table.declined(2, for: phone, by: id) == (try Table.key(2)))
        #expect(table.table.declined(2, for: phone, by: otherID) == nil)
        #expect(table.table.declined(1, for: other, by: otherID) == nil)
        #expect(table.table.declined(3, for: phone, by: id) == nil)
        _ = try table.remove(2)
        #expect(table.table.declined(2, for: phone, by: id) == nil)
    }

    @Test("allows three wake-ups at once and six in a minute for each contact ID, with or without a listener")
    func rate() throws {
        for listens in [true, false] {
            let table = Table()
            let (phone, other) = (try Table.contact(1), try Table.contact(2))
            if listens { _ = table.listen(phone, by: 1) }
            for key in 1...3 { #expect(try table.request(phone, key: key, by: key) != nil) }
            #expect(table.refusal(phone) == .tooManyWakeUps)
            #expect(table.refusal(other) == nil)
            // The end of a request gives nothing back.
            for key in 1...3 { _ = try table.remove(key) }
            #expect(table.refusal(phone, now: start + .milliseconds(9999)) == .tooManyWakeUps)
            var admitted = 0
            for second in 1...60 {
                let now = start + .seconds(Int64(second))
                _ = table.sweep(now: now)
                if try table.request(phone, key: 100 + second, by: 9, now: now) != nil { admitted += 1 }
            }
            #expect(admitted == 6)
        }
    }

    @Test("forgets contact IDs once their rate limit no longer matters")
    func forgets() throws {
        let table = Table()
        for number in 1...5 {
            _ = try table.request(try Table.contact(UInt8(number)), key: number, by: number)
            _ = try table.remove(number)
        }
        #expect(table.table.contactCount == 5)
        _ = table.sweep(now: start + .seconds(9))
        #expect(table.table.contactCount == 5)
        _ = table.sweep(now: start + .seconds(10))
        #expect(table.table.contactCount == 0)
    }

    @Test("holds a limited number of requests, but always wakes phones that listen")
    func heldLimit() throws {
        let table = Table { $0.heldContacts = 2 }
        let listening = try Table.contact(9)
        _ = table.listen(listening, by: 1)
        for number in 1...2 { #expect(try table.request(try Table.contact(UInt8(number)), key: number, by: 2) == []) }
        #expect(table.refusal(try Table.contact(3)) == .full)
        #expect(try table.request(listening, key: 3, by: 3) != nil)
        _ = try table.remove(1)
        #expect(table.refusal(try Table.contact(3)) == nil)
    }

    @Test("refuses requests for a revoked contact ID with the phone's proof, even if a phone listens")
    func revoked() throws {
        let table = Table()
        let phone = try Table.contact(1)
        #expect(table.refusal(phone) == nil, "an unknown contact ID is not gone")
        _ = try table.request(phone, key: 1, by: 2)
        _ = table.listen(phone, by: 1)
        _ = try table.request(phone, key: 2, by: 3)
        #expect(try table.revoke(phone) == [try Table.key(1), try Table.key(2)])
        _ = table.listen(phone, by: 4)
        let refusal = try #require(table.refusal(phone))
        #expect(refusal == .contactGone(try Table.revocation()) && refusal.status == 410)
        #expect(refusal.response.contains("\r\nX-Hybrid-Contact-Key: BwcHBwcH"))
        #expect(refusal.response.contains("\r\nX-Hybrid-Contact-Gone: CAgICAgI"))
        #expect(table.refusal(try Table.contact(2)) == nil)
    }

    @Test("remembers a limited number of revocations, those that are requested longer")
    func revocationLimit() throws {
        var table = RevocationTable(capacity: 10)
        let revocation = try Table.revocation()
        for number in 0..<100 {
            table.insert(revocation, for: try Table.contact(UInt8(number)))
            let first = table[try Table.contact(0)]
            #expect(first == revocation && table.count <= 10)
        }
        #expect(table[try Table.contact(99)] == revocation)
        #expect(table[try Table.contact(50)] == nil)
        for number in 101..<200 { table.insert(revocation, for: try Table.contact(UInt8(number))) }
        let requested = try [0, 99].map { table[try Table.contact($0)] }
        #expect(requested == [revocation, revocation], "others do not displace those that clients have requested")
        var none = RevocationTable(capacity: 0)
        none.insert(revocation, for: try Table.contact(1))
        #expect(none.count == 0)
    }

    @Test("says why a request ended")
    func outcomes() {
        let held = WakeUpState.awaitingListener(until: start)
        #expect(WakeUpOutcome(of: .ringing, endedFor: nil) == .joined)
        #expect(WakeUpOutcome(of: .ringing, endedFor: .declined) == .declined)
        #expect(WakeUpOutcome(of: .ringing, endedFor: .unclaimed) == .unanswered)
        #expect(WakeUpOutcome(of: .ringing, endedFor: .abandoned) == .unanswered)
        #expect(WakeUpOutcome(of: .ringing, endedFor: .revoked(.contactUnreachable)) == .declined)
        #expect(WakeUpOutcome(of: held, endedFor: .unreachable) == .noListener)
        #expect(WakeUpOutcome(of: held, endedFor: .abandoned) == .noListener)
        #expect(WakeUpOutcome(of: held, endedFor: .revoked(.contactUnreachable)) == .gone)
        #expect(WakeUpOutcome(of: .tooManyWakeUps) == .limited)
        #expect(WakeUpOutcome(of: .contactUnreachable) == nil && WakeUpOutcome(of: .full) == nil)
    }

    @Test("neither a contact ID nor a key is printed")
    func hidden() throws {
        let digest = try Table.contact(0xAB)
        for text in Shown.texts(digest) { #expect(!text.contains("171") && !text.lowercased().contains("abab")) }
        #expect("\(digest)" == "ContactDigest(hidden)")
    }

    @Test("only contact IDs of this project's phones have a digest")
    func kinds() throws {
        let push = try #require(ContactID(bytes: [2] + [UInt8](repeating: 1, count: 24)))
        let long = try #require(ContactID(bytes: [1] + [UInt8](repeating: 1, count: 25)))
        let short = try #require(ContactID(bytes: [1]))
        for id in [long, short] { #expect(ContactDigest(id) == nil) }
        let other = try #require(ContactID(bytes: push.bytes.dropLast() + [2]))
        #expect(try #require(ContactDigest(push)) != #require(ContactDigest(other)))
        #expect(try Table.contact(1) != Table.contact(2))
    }
}
