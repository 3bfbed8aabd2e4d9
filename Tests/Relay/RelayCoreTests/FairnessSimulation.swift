// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import HybridNetwork
import HybridPrimitives
import Logging
import NIOCore
import TestSupport
import Testing

@testable import HybridRelayCore

/// The relay's rules with a simulated clock, parties that take as much as they can, and users of other sources.
///
/// Each party has one IPv4 address, or an IPv6 network of which it uses any address. Push servers of parties never
/// answer, and neither do the name servers of these push servers. One push server belongs to all: it answers at once.
final class FairnessSimulation {
    /// A kind of resource that parties exhaust, and that users need.
    enum Resource: CaseIterable { case connections, tunnels, listeners, contacts, wakeUps, proofs }

    /// A party that attacks.
    struct Attacker {
        let number: Int
        /// Length of the party's IPv6 network; `nil` for an IPv4 address.
        let network: Int?
        let target: Resource
        /// True if messages go to the push server that users need, too.
        let usesCommonServer: Bool
        /// True if connections end at once, so that only rates are used up.
        let isBrief: Bool
    }

    private struct Open {
        var admitted: AdmittedConnection
        var key: TunnelIdentity?
    }

    private enum Event {
        case hangUp(Int)
        case endPush(PushPlaces.Request, seal: Int?)
        case endLookup(LookupShare)
    }

    private static let step = TimeAmount.milliseconds(500)
    /// Maximum time that a message for a push server takes.
    private static let pushTime = TimeAmount.seconds(5)
    /// The time after which getaddrinfo(3) gives up.
    private static let lookupTime = TimeAmount.seconds(30)
    private static let commonServer = "https://push.example"

    private let limits: RelayLimits
    private let attackers: [Attacker]
    private let requests: [Resource: UpgradeRequest]
    private let payload: ClientPayload
    private let admission: AdmissionControl
    private var tunnels: TunnelTable<Int>
    private var contacts: ContactTable<Int>
    private var places = PushPlaces()
    private var lookups = LookupQueue<LookupShare>()
    private var random: SeededGenerator
    private var now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private var open: [Int: Open] = [:]
    /// Connections without a request, the oldest first.
    private var idle: [Int] = []
    private var events: [(time: NIODeadline, event: Event)] = []
    private var lastNumber = 0
    private(set) var attempts: [Resource: Int] = [:]
    private(set) var successes: [Resource: Int] = [:]

    init(limits: RelayLimits, attackers: [Attacker], random: SeededGenerator) throws {
        (self.limits, self.attackers, self.random) = (limits, attackers, random)
        let phone = LinkedPhone()
        let contact = try UpgradeRequest(parsing: phone.contactRequest())
        payload = try #require(contact.payload)
        requests = [
            .tunnels: try UpgradeRequest(parsing: UpgradeRequestTests.head()),
            .listeners: try UpgradeRequest(parsing: phone.listenRequest()), .contacts: contact,
        ]
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        admission = AdmissionControl(limits: limits, offersContacts: true, logger: logger)
        tunnels = TunnelTable(node: 1, limits: limits)
        contacts = ContactTable(limits: limits)
    }

    /// Lets parties and users act for some time; each user tries for up to `patience` steps.
    func run(steps: Int, users: [Resource], patience: Int) {
        var waiting: [(resource: Resource, since: Int)] = []
        for step in 0..<steps {
            processEvents()
            for attacker in attackers.shuffled(using: &random) { attack(attacker, isFirst: step == 0) }
            if step + patience < steps { waiting += users.map { ($0, step) } }
            waiting = waiting.filter { resource, since in
                let hasSucceeded = serveUser(resource)
                guard hasSucceeded || step - since >= patience else { return true }
                attempts[resource, default: 0] += 1
                successes[resource, default: 0] += hasSucceeded ? 1 : 0
                return false
            }
            now = now + Self.step
            admission.sweep(now: now)
        }
    }

    // MARK: Parties

    private func attack(_ attacker: Attacker, isFirst: Bool) {
        var tries = isFirst ? 2_000 : 1
        while tries > 0, attackOnce(attacker) { tries -= 1 }
    }

    /// Takes one more of the resource; false if the party is refused.
    private func attackOnce(_ attacker: Attacker) -> Bool {
        let address = address(of: attacker)
        switch attacker.target {
        case .connections: return connect(from: address) != nil
        case .tunnels, .listeners:
            guard let number = request(attacker.target, from: address) else { return false }
            if attacker.isBrief { hangUp(number) }
            return true
        case .contacts:
            guard let number = request(.contacts, from: address) else { return false }
            events.append((now + limits.contactHold, .hangUp(number)))
            return true
        case .wakeUps, .proofs:
            let server = attacker.usesCommonServer ? Self.commonServer : "https://push\(attacker.number).example"
            return push(to: server, isProof: attacker.target == .proofs, from: address)
        }
    }

    private func address(of attacker: Attacker) -> SocketAddress? {
        guard let bits = attacker.network else {
            return SocketAddress(packed: [10, 0, UInt8(attacker.number >> 8), UInt8(attacker.number & 0xFF)], port: 1)
        }
        let party = UInt64(0x2A00_0000 + attacker.number) << 32
        let high = party | (random.next() & (1 << UInt64(64 - bits) - 1))
        return Self.address(high)
    }

    private static func address(_ high: UInt64) -> SocketAddress? {
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: high >> UInt64(56 - 8 * $0)) }
        return SocketAddress(packed: bytes + [0, 0, 0, 0, 0, 0, 0, 1], port: 1)
    }

    // MARK: Users

    /// Lets a user of a new source try once; true if the user gets what it needs.
    private func serveUser(_ resource: Resource) -> Bool {
        lastNumber += 1
        let isIPv6 = random.number(0...1) == 1
        let (high, low) = (UInt8(lastNumber >> 8 & 0xFF), UInt8(lastNumber & 0xFF))
        let address =
            isIPv6
            ? Self.address(UInt64(0x2B00_0000 + lastNumber) << 32)
            : SocketAddress(packed: [20, UInt8(lastNumber >> 16 & 0xFF), high, low], port: 1)
        switch resource {
        case .connections: return connect(from: address).map { events.append((now + Self.step, .hangUp($0))) } != nil
        case .tunnels, .listeners, .contacts:
            return request(resource, from: address).map { events.append((now + Self.step, .hangUp($0))) } != nil
        case .wakeUps, .proofs: return push(to: Self.commonServer, isProof: resource == .proofs, from: address)
        }
    }

    // MARK: Rules

    private func connect(from address: SocketAddress?) -> Int? {
        let admitted = try? admission.admitConnection(from: address, now: now) {
            guard let oldest = self.idle.first else { return false }
            self.hangUp(oldest)
            return true
        }
        guard let admitted else { return nil }
        lastNumber += 1
        open[lastNumber] = Open(admitted: admitted)
        idle.append(lastNumber)
        return lastNumber
    }

    /// Connects and requests; a request that is refused ends the connection.
    private func request(_ resource: Resource, from address: SocketAddress?, isPushed: Bool = false) -> Int? {
        guard let number = connect(from: address), let request = requests[resource],
            var admitted = open[number]?.admitted
        else { return nil }
        let isAdmitted = (try? admission.admit(request, on: &admitted, now: now)) != nil
        open[number]?.admitted = admitted
        guard isAdmitted, resource == .listeners || openTunnel(number, resource, isPushed: isPushed) else {
            hangUp(number)
            return nil
        }
        idle.removeAll { $0 == number }
        return number
    }

    private func openTunnel(_ number: Int, _ resource: Resource, isPushed: Bool) -> Bool {
        let (tunnel, isContact) = (TunnelID(using: &random), resource == .contacts)
        let contact = ContactID(bytes: [1] + random.bytes(24)).flatMap { ContactDigest($0) }
        guard let contact, !isContact || contacts.refusal(of: contact, now: now) == nil,
            let key = tunnels.open(tunnel, by: number, as: isContact ? .client : .phone, check: 0, now: now)?.key
        else { return false }
        open[number]?.key = key
        guard isContact else { return true }
        return contacts.addRequest(for: contact, payload, in: key, by: number, isPushed: isPushed, now: now).isEmpty
    }

    private func push(to server: String, isProof: Bool, from address: SocketAddress?) -> Bool {
        guard let number = request(isProof ? .listeners : .contacts, from: address, isPushed: !isProof),
            let admitted = open[number]?.admitted
        else { return false }
        guard !isProof || admission.admitSeal(of: admitted, now: now) else {
            hangUp(number)
            return false
        }
        let place = PushPlaces.Request(origin: server, party: admitted.party, isProof: isProof)
        let share = LookupShare(party: admitted.party, isDeferrable: isProof)
        let isCommon = server == Self.commonServer
        let hasPlace = places.admit(place, perMinuteAndHost: limits.pushesPerMinuteAndHost, now: now)
        let isQueued = hasPlace && lookups.add(share, share)
        let hasThread = isQueued && startLookups(answered: isCommon, share)
        let end = now + (isCommon || !isQueued ? Self.step : Self.pushTime)
        if hasPlace { events.append((end, .endPush(place, seal: isProof ? number : nil))) }
        if isProof, !hasPlace { admission.endSeal(of: admitted) }
        events.append((end, .hangUp(number)))
        return hasThread
    }

    /// Gives threads to lookups, of which only the last one may be answered; true if that one has begun.
    private func startLookups(answered: Bool, _ last: LookupShare) -> Bool {
        var hasBegun = false
        while let share = lookups.next() {
            hasBegun = hasBegun || share == last
            if share == last, answered {
                lookups.end(share)
            } else {
                events.append((now + Self.lookupTime, .endLookup(share)))
            }
        }
        return hasBegun
    }

    private func hangUp(_ number: Int) {
        guard let connection = open.removeValue(forKey: number) else { return }
        if let key = connection.key {
            _ = tunnels.leave(key, .phone, bytes: 0, now: now)
            _ = tunnels.leave(key, .client, bytes: 0, now: now)
            for (key, _) in tunnels.takeEndedWaits() { _ = contacts.remove(key) }
        } else {
            idle.removeAll { $0 == number }
        }
        admission.removeConnection(connection.admitted)
    }

    private func processEvents() {
        let due = events.filter { $0.time <= now }
        events.removeAll { $0.time <= now }
        for (_, event) in due {
            switch event {
            case .hangUp(let number): hangUp(number)
            case .endPush(let place, let number):
                places.remove(place)
                if let number, let admitted = open[number]?.admitted { admission.endSeal(of: admitted) }
            case .endLookup(let share): lookups.end(share)
            }
        }
    }
}
