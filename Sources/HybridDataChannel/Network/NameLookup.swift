// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridThreads
internal import NIOCore
internal import NIOPosix

/// How names become addresses.
struct NameLookup: Sendable {
    /// All addresses of a name, or of an address written out, with the port; on a thread that may wait.
    let addresses: @Sendable (_ host: String, _ port: Int) throws -> [SocketAddress]

    /// getaddrinfo(3).
    static let system = NameLookup { host, port in
        var hint = addrinfo()
        hint.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hint, &first) == 0, let first else { throw NoAddress() }
        defer { freeaddrinfo(first) }
        return sequence(first: first, next: { $0.pointee.ai_next }).compactMap { entry in
            guard let address = entry.pointee.ai_addr.map(UnsafeRawPointer.init) else { return nil }
            return switch entry.pointee.ai_family {
            case AF_INET: SocketAddress(address.loadUnaligned(as: sockaddr_in.self), host: host)
            case AF_INET6: SocketAddress(address.loadUnaligned(as: sockaddr_in6.self), host: host)
            default: nil
            }
        }
    }

    /// The name has none.
    struct NoAddress: Error {}
}

/// Gives NIO the addresses among which it races (RFC 8305), without those that may not be used.
final class RelayResolver: Resolver, Sendable {
    /// All that the name has may not be used.
    struct NothingPermitted: Error {}

    private let lookup: NameLookup
    private let permits: @Sendable (NetworkAddress) -> Bool
    private let found: @Sendable ([SocketAddress]) -> Void
    private let version4: EventLoopPromise<[SocketAddress]>
    private let version6: EventLoopPromise<[SocketAddress]>
    private let isAnswered = Locked(false)

    /// A resolver for one connection on `loop`; `found` is told what the name has.
    init(
        _ lookup: NameLookup,
        on loop: any EventLoop,
        permits: @escaping @Sendable (NetworkAddress) -> Bool,
        found: @escaping @Sendable ([SocketAddress]) -> Void
    ) {
        self.lookup = lookup
        self.permits = permits
        self.found = found
        version4 = loop.makePromise()
        version6 = loop.makePromise()
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { version4.futureResult }

    /// One look-up answers both questions; NIO asks this one first.
    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        let answer = NIOThreadPool.singleton.runIfActive(eventLoop: version6.futureResult.eventLoop) {
            [lookup, permits, found] in
            let all = try lookup.addresses(host, port)
            guard !all.isEmpty else { throw NameLookup.NoAddress() }
            found(all)
            let permitted = all.filter { NetworkAddress($0).map(permits) ?? false }
            guard !permitted.isEmpty else { throw NothingPermitted() }
            return permitted
        }
        answer.whenComplete { self.answer($0) }
        return version6.futureResult
    }

    /// Ends the look-up for whoever waits; the system's own can't be ended, and what it says later is not heard.
    func cancel() {
        version6.futureResult.eventLoop.execute { self.answer(.failure(CancellationError())) }
    }

    private func answer(_ result: Result<[SocketAddress], any Error>) {
        let isFirst = isAnswered.withLock { isAnswered in
            defer { isAnswered = true }
            return !isAnswered
        }
        guard isFirst else { return }
        // Both in one turn of the loop: else the one that comes first would be tried as if it were all.
        version6.completeWith(result.map { $0.filter { $0.protocol == .inet6 } })
        version4.completeWith(result.map { $0.filter { $0.protocol == .inet } })
    }

    func cancelQueries() {}
}
