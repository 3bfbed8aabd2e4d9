// SPDX-License-Identifier: Apache-2.0

internal import CHybridLinux
internal import Glibc
internal import NIOCore

/// One event loop's use of a listening socket that all event loops share.
///
/// If the system has no descriptor or memory for another connection, accepting pauses. Such a connection stays in the
/// kernel's queue, and the socket stays readable. Without a pause, the event loop would retry continuously.
struct AcceptingSocket {
    /// The lowest event number of an accepting socket.
    ///
    /// The highest 32 bits are set, which no connection's generation has.
    static let firstEvent = UInt64.max << 32
    private static let pause = TimeAmount.milliseconds(200)
    /// Maximum number of connections accepted in one turn, so that the other event loops get their share, and open
    /// connections do not wait.
    private static let connectionsPerTurn = 16

    let descriptor: CInt
    /// Time when accepting resumes after a pause; `nil` if it is not paused.
    private(set) var pausedUntil: NIODeadline?

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    /// Registers the socket for events.
    ///
    /// Of all event loops that wait, the kernel wakes one, not all. If the system has no memory for it, it is repeated
    /// after a pause.
    mutating func register(on epoll: CInt, now: NIODeadline) {
        let result = hybrid_epoll_control(
            epoll,
            EPOLL_CTL_ADD,
            descriptor,
            EPOLLIN.rawValue | EPOLLEXCLUSIVE.rawValue,
            Self.firstEvent | UInt64(UInt32(bitPattern: descriptor))
        )
        pausedUntil = result == 0 ? nil : now + Self.pause
    }

    mutating func remove(from epoll: CInt) {
        _ = hybrid_epoll_control(epoll, EPOLL_CTL_DEL, descriptor, 0, 0)
        pausedUntil = nil
    }

    /// Accepts waiting connections.
    ///
    /// - Returns: The error number if accepting is now paused, otherwise 0.
    mutating func accept(on epoll: CInt, now: NIODeadline, _ body: (CInt, SocketAddress?) -> Void) -> CInt {
        for _ in 0..<Self.connectionsPerTurn {
            var peer = sockaddr_storage()
            var length = CUnsignedInt(MemoryLayout<sockaddr_storage>.size)
            let flags = CInt(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
            let connection = hybrid_accept(descriptor, &peer, &length, flags)
            guard connection < 0 else {
                body(connection, SocketAddress(peer))
                continue
            }
            switch errno {
            case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                remove(from: epoll)
                pausedUntil = now + Self.pause
                return errno
            // The connection failed while it waited (accept(2)).
            case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP,
                ENETUNREACH, EPERM:
                continue
            default: return 0
            }
        }
        return 0
    }
}

/// The listening sockets of one event loop, which watches them while it accepts connections.
struct AcceptingSockets {
    private let epoll: CInt
    /// False if the other event loops accept all connections.
    private(set) var isAccepting: Bool
    private var all: [AcceptingSocket] = []

    init(epoll: CInt, isAccepting: Bool) { (self.epoll, self.isAccepting) = (epoll, isAccepting) }

    /// The earliest time when a paused socket resumes.
    var nextResume: NIODeadline? {
        guard isAccepting else { return nil }
        var next: NIODeadline?
        for socket in all { if let time = socket.pausedUntil { next = min(next ?? time, time) } }
        return next
    }

    mutating func add(_ descriptor: CInt, now: NIODeadline) {
        var socket = AcceptingSocket(descriptor)
        if isAccepting { socket.register(on: epoll, now: now) }
        all.append(socket)
    }

    /// Starts or stops accepting connections.
    mutating func set(isAccepting: Bool, now: NIODeadline) {
        guard isAccepting != self.isAccepting else { return }
        self.isAccepting = isAccepting
        for index in all.indices {
            if isAccepting { all[index].register(on: epoll, now: now) } else { all[index].remove(from: epoll) }
        }
    }

    mutating func removeAll() {
        for index in all.indices { all[index].remove(from: epoll) }
        all = []
    }

    /// Accepts waiting connections, even if the event loop has stopped accepting in the same turn.
    ///
    /// The kernel may have woken no other event loop for them.
    ///
    /// - Returns: The error number if accepting is now paused, otherwise 0.
    mutating func accept(from descriptor: CInt, now: NIODeadline, _ body: (CInt, SocketAddress?) -> Void) -> CInt {
        guard let index = all.firstIndex(where: { $0.descriptor == descriptor }) else { return 0 }
        return all[index].accept(on: epoll, now: now, body)
    }

    /// Resumes the sockets whose pause is over.
    mutating func resume(now: NIODeadline) {
        guard isAccepting else { return }
        for index in all.indices {
            if let time = all[index].pausedUntil, time <= now { all[index].register(on: epoll, now: now) }
        }
    }
}

extension SocketAddress {
    /// Creates an address from the system's structure; `nil` for an address family other than IP and unix sockets.
    init?(_ storage: sockaddr_storage) {
        switch CInt(storage.ss_family) {
        // Without a host name, NIO would convert each address to text.
        case AF_INET: self.init(withUnsafeBytes(of: storage) { $0.load(as: sockaddr_in.self) }, host: "")
        case AF_INET6: self.init(withUnsafeBytes(of: storage) { $0.load(as: sockaddr_in6.self) }, host: "")
        // The socket of a client rarely has a path, and the path has no meaning here.
        case AF_UNIX: try? self.init(unixDomainSocketPath: "")
        default: return nil
        }
    }
}
