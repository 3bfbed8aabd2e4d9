// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import HybridPrimitives
internal import HybridThreads
package import NIOCore
internal import NIOPosix

/// A function that resolves host names; a value, so that tests can replace it.
package struct NameLookup: Sendable {
    /// Returns all addresses of a name or of an address literal, with the port.
    ///
    /// May block.
    let addresses: @Sendable (_ host: String, _ port: Int) throws -> [SocketAddress]

    /// Creates a lookup with a function that returns the addresses.
    package init(addresses: @escaping @Sendable (_ host: String, _ port: Int) throws -> [SocketAddress]) {
        self.addresses = addresses
    }

    /// The system's name resolution, getaddrinfo(3).
    package static let system = NameLookup { host, port in
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

    /// The name has no address.
    package struct NoAddress: Error {
        /// Creates the error.
        package init() {}
    }
}

/// A resolver that returns only permitted addresses; NIO races connections to them (RFC 8305).
package final class AddressResolver: Resolver, Sendable {
    /// The name has addresses, but none is permitted.
    package struct NothingPermitted: Error {}

    private let lookup: NameLookup
    private let threads: LookupThreads
    private let share: LookupShare
    private let permits: @Sendable (IPAddress) -> Bool
    private let found: @Sendable ([SocketAddress]) -> Void
    private let version4: EventLoopPromise<[SocketAddress]>
    private let version6: EventLoopPromise<[SocketAddress]>
    private let isAnswered = Locked(false)

    /// Creates a resolver for one connection on `loop`; `found` receives all addresses of the name.
    package init(
        _ lookup: NameLookup,
        on loop: any EventLoop,
        threads: LookupThreads = .shared,
        share: LookupShare = .own,
        permits: @escaping @Sendable (IPAddress) -> Bool,
        found: @escaping @Sendable ([SocketAddress]) -> Void
    ) {
        self.lookup = lookup
        (self.threads, self.share) = (threads, share)
        self.permits = permits
        self.found = found
        version4 = loop.makePromise()
        version6 = loop.makePromise()
    }

    package func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { version4.futureResult }

    /// Starts the single lookup that answers both queries; NIO calls this method first.
    package func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        let isWanted = { @Sendable in !self.isAnswered.withLock { $0 } }
        let answer = threads.run(on: version6.futureResult.eventLoop, share, isWanted: isWanted) {
            [lookup, permits, found] in
            let all = try lookup.addresses(host, port)
            guard !all.isEmpty else { throw NameLookup.NoAddress() }
            found(all)
            let permitted = all.filter { $0.ipAddress.flatMap { IPAddress($0) }.map(permits) ?? false }
            guard !permitted.isEmpty else { throw NothingPermitted() }
            return permitted
        }
        answer.whenComplete { self.answer($0) }
        return version6.futureResult
    }

    /// Fails the pending queries.
    ///
    /// A lookup that has begun continues, and its result is ignored. One that waits for a thread is not begun.
    package func cancel() {
        version6.futureResult.eventLoop.execute { self.answer(.failure(CancellationError())) }
    }

    private func answer(_ result: Result<[SocketAddress], any Error>) {
        let isFirst = isAnswered.withLock { isAnswered in
            defer { isAnswered = true }
            return !isAnswered
        }
        guard isFirst else { return }
        // Both complete in one turn of the event loop; otherwise, NIO would act on the first result alone.
        version6.completeWith(result.map { $0.filter { $0.protocol == .inet6 } })
        version4.completeWith(result.map { $0.filter { $0.protocol == .inet } })
    }

    package func cancelQueries() {}
}
