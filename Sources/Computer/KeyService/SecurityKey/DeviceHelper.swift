// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSecurityKey

/// The system service hybrid-uhid, which creates one virtual device for each connection and passes its reports on.
struct DeviceHelper: Sendable {
    /// The name of its account.
    private static let account = "_hybrid-uhid"
    /// Time for the helper to accept a connection or a report.
    private static let sendTimeout = 5

    /// The path of the socket.
    let path: String
    /// Users who may listen there.
    private let trustedUsers: @Sendable () -> Set<uid_t>

    /// Creates a helper.
    ///
    /// - Parameters:
    ///   - path: The path of the socket.
    ///   - trustedUsers: Returns the users who may listen there; by default root, whose service manager creates the socket,
    ///     and the helper's account.
    init(path: String, trustedUsers: (@Sendable () -> Set<uid_t>)? = nil) {
        self.path = path
        self.trustedUsers = trustedUsers ?? { Set([0, Self.accountID].compactMap(\.self)) }
    }

    /// A reason why there is no connection.
    enum Failure: Error, Hashable {
        /// The system is not set up, or the helper is down.
        case notReachable(errorNumber: CInt)
        /// Another user listens on the socket.
        case untrusted(uid_t)

        /// The cause for users.
        var sentence: String {
            switch self {
            case .notReachable(let number): String(cString: strerror(number))
            case .untrusted(let user): "user \(user) listens there, who is neither root nor \(account)"
            }
        }
    }

    /// Connects, which creates the device if this user is at the computer.
    func connect() throws(Failure) -> HelperConnection {
        guard var address = UnixAddress(path: path) else { throw .notReachable(errorNumber: ENAMETOOLONG) }
        let descriptor = socket(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .notReachable(errorNumber: errno) }
        var timeout = timeval(tv_sec: Self.sendTimeout, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        guard address.withAddress({ Glibc.connect(descriptor, $0, $1) }) == 0 else {
            defer { close(descriptor) }
            throw .notReachable(errorNumber: errno)
        }
        let connection = HelperConnection(descriptor)
        // Another program at this path could answer requests in the name of the key.
        guard let peer = PeerCredentials(socket: descriptor) else { throw .notReachable(errorNumber: ENOTCONN) }
        guard trustedUsers().contains(peer.user) else { throw .untrusted(peer.user) }
        return connection
    }

    private static var accountID: uid_t? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16384)
        guard getpwnam_r(account, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
        return entry.pw_uid
    }
}

/// A connection to the helper, which is closed on release: packets of one report each, in both directions.
final class HelperConnection {
    /// The open descriptor.
    let descriptor: CInt

    fileprivate init(_ descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// The result of reading.
    enum Input: Equatable {
        case report(HIDReport)
        /// There is no report at the moment.
        case none
        /// The helper has left, or has sent anything but a report.
        case end
    }

    /// Reads a report without waiting for one.
    func receive() -> Input {
        // One byte more than a report, so that a longer packet is recognized.
        var bytes = [UInt8](repeating: 0, count: HIDReport.length + 1)
        let count = recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT))
        if count < 0, errno == EINTR || errno == EAGAIN { return .none }
        return HIDReport(bytes: bytes.prefix(max(0, count))).map(Input.report) ?? .end
    }

    /// Sends reports, at the pace of the helper; returns false if the helper does not accept them.
    func send(_ reports: [HIDReport]) -> Bool {
        for report in reports {
            while Glibc.send(descriptor, report.bytes, report.bytes.count, CInt(MSG_NOSIGNAL)) != report.bytes.count {
                guard errno == EINTR else { return false }
            }
        }
        return true
    }
}
