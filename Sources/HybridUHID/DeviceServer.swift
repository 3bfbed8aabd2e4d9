// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridProgram
internal import HybridThreads

/// The service: accepts connections and gives each user at most one device.
package final class DeviceServer: Sendable {
    /// Maximum number of devices and of connections.
    static let maximumDevices = 16

    private let listener: OwnedDescriptor
    private let policy: PeerPolicy
    private let serialNumber: String
    private let openDevice: @Sendable () throws(DeviceFailure) -> OwnedDescriptor
    private let log: @Sendable (String) -> Void
    /// The users that have a connection, which has a device if they may have one.
    private let users = Locked(Set<uid_t>())
    private let rates = Locked(ConnectionRates())

    /// Creates a service.
    ///
    /// - Parameters:
    ///   - listener: A listening socket, SOCK_SEQPACKET.
    ///   - policy: The users that may have a device.
    ///   - serialNumber: The serial number of the devices, at most 63 bytes of ASCII.
    ///   - openDevice: Opens `/dev/uhid`.
    ///   - log: Receives one line for each device that is created or refused, or that ends.
    package init(
        listener: OwnedDescriptor,
        policy: PeerPolicy,
        serialNumber: String,
        openDevice: @escaping @Sendable () throws(DeviceFailure) -> OwnedDescriptor = { () throws(DeviceFailure) in
            let descriptor = open("/dev/uhid", O_RDWR | O_CLOEXEC)
            guard descriptor >= 0 else { throw .notOpened(errno) }
            return OwnedDescriptor(descriptor)
        },
        log: @escaping @Sendable (String) -> Void
    ) {
        (self.listener, self.policy, self.serialNumber) = (listener, policy, serialNumber)
        (self.openDevice, self.log) = (openDevice, log)
    }

    /// Accepts connections until there has been none for a time; blocks.
    ///
    /// - Parameter idleLimit: The time, in milliseconds.
    package func serve(idleLimit: CInt) {
        let flags = CInt(SOCK_NONBLOCK.rawValue)
        guard let threads = PriorityThreads() else { return log("\(DeviceFailure.noResources)") }
        // Every user can connect, as often as they like: nothing that they can cause runs with the priority.
        PriorityThreads.leave()
        let isIdle = { self.users.withLock(\.isEmpty) }
        AcceptLoop.run(on: listener.number, flags: flags, idleLimit: idleLimit, isIdle: isIdle) {
            start(OwnedDescriptor($0), of: $1.user, threads)
        }
    }

    /// Serves a connection on a thread of its own, or closes it.
    private func start(_ client: OwnedDescriptor, of user: uid_t, _ threads: PriorityThreads) {
        switch rates.withLock({ $0.count(user, at: .now) }) {
        case .within: break
        case .firstBeyond: return log("user \(user): too many connections; restart hybrid-key")
        case .beyond: return
        }
        guard users.withLock({ $0.count < Self.maximumDevices && $0.insert(user).inserted }) else {
            return log("user \(user): \(DeviceFailure.secondDevice)")
        }
        let work = { @Sendable [self] in
            do throws(DeviceFailure) {
                try serve(client, of: user, threads)
                log("user \(user): device removed")
            } catch {
                log("user \(user): \(error)")
            }
            users.withLock { _ = $0.remove(user) }
        }
        guard !DedicatedThread.start(work) else { return }
        users.withLock { _ = $0.remove(user) }
        log("user \(user): \(DeviceFailure.noResources)")
    }

    private func serve(_ client: OwnedDescriptor, of user: uid_t, _ threads: PriorityThreads) throws(DeviceFailure) {
        guard policy.admits(user) else { throw .notAdmitted }
        let connection = try DeviceConnection(
            client: client,
            user: user,
            device: openDevice(),
            serialNumber: serialNumber,
            policy: policy,
            threads: threads
        )
        log("user \(user): device created")
        try connection.run()
    }
}

/// The rate of connections of each user: 64 at once, and 4 a second.
struct ConnectionRates: Sendable {
    static let (burst, perSecond) = (64, 4.0)

    /// The place of a connection in the rate.
    enum Place: Hashable {
        /// The rate permits it.
        case within
        /// It is the first that the rate does not permit.
        case firstBeyond
        /// It follows others that the rate does not permit.
        case beyond
    }

    private var users: [uid_t: (left: Double, last: ContinuousClock.Instant, isBeyond: Bool)] = [:]

    /// Counts a connection.
    mutating func count(_ user: uid_t, at now: ContinuousClock.Instant) -> Place {
        var (left, last, isBeyond) = users[user] ?? (Double(Self.burst), now, false)
        left = min(Double(Self.burst), left + (now - last) / .seconds(1) * Self.perSecond)
        last = now
        defer { users[user] = (left, last, isBeyond) }
        guard left >= 1 else {
            defer { isBeyond = true }
            return isBeyond ? .beyond : .firstBeyond
        }
        left -= 1
        // A line is written again after a pause only.
        if left >= Double(Self.burst) / 2 { isBeyond = false }
        return .within
    }
}
