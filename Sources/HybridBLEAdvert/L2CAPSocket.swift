// SPDX-License-Identifier: Apache-2.0

private import CHybridBluetooth
private import Glibc
public import HybridCaBLE
internal import HybridSystemBus

/// A connected L2CAP channel over Bluetooth LE: packets either way, in order, each of up to a size of the other's choice.
///
/// The link is neither paired nor encrypted, and nobody at its other end has proved anything.
public final class L2CAPSocket: Sendable {
    let descriptor: SocketDescriptor
    /// Most bytes of one packet that the other device takes.
    public let largestPacket: Int

    init(_ descriptor: SocketDescriptor, largestPacket: Int) {
        self.descriptor = descriptor
        self.largestPacket = largestPacket
    }

    /// Gives the socket away, which doesn't block; the taker closes it.
    ///
    /// - Returns: `nil` the second time.
    public func handOver() -> CInt? { descriptor.handOver() }

    /// Closes it, unless it was given away.
    public func close() { descriptor.close() }
}

/// The way to a device that was heard.
public struct L2CAPRoute: Sendable {
    private let own: DeviceAddress
    private let other: DeviceAddress
    private let psm: L2CAPPSM

    init(from own: DeviceAddress, to other: DeviceAddress, psm: L2CAPPSM) {
        (self.own, self.other, self.psm) = (own, other, psm)
    }

    /// Connects, without pairing.
    ///
    /// - Throws: ``L2CAPError``, `CancellationError`.
    public func connect(within limit: Duration) async throws -> L2CAPSocket {
        let (descriptor, _) = try L2CAPKernel.socket(at: own)
        let socket = try await descriptor.use { number in
            guard L2CAPKernel.connect(number, to: other, psm) == 0 || errno == EINPROGRESS else {
                throw L2CAPError.failed(L2CAPKernel.words(errno))
            }
            switch await SocketDescriptor.wait(for: .writable, on: number, atMost: limit) {
            case .ready: break
            case .timedOut: throw L2CAPError.timedOut
            case .abandoned:
                try Task.checkCancellation()
                throw L2CAPError.failed(L2CAPKernel.words(EMFILE))
            }
            let error = L2CAPKernel.pendingError(number)
            guard error == 0 else { throw error == ETIMEDOUT ? .timedOut : L2CAPError.failed(L2CAPKernel.words(error)) }
            return L2CAPSocket(descriptor, largestPacket: try await L2CAPKernel.largestPacket(number))
        }
        guard let socket else { throw L2CAPError.failed(L2CAPKernel.words(EBADF)) }
        return socket
    }
}

/// A socket that takes L2CAP channels from whoever is near.
public final class L2CAPListener: Sendable {
    private let descriptor: SocketDescriptor
    private let knownPacket: Int?
    /// The number to connect to; the kernel chose it.
    public let psm: L2CAPPSM

    /// - Parameter largestPacket: for sockets that are not the radio's, which don't tell.
    init(_ descriptor: SocketDescriptor, psm: L2CAPPSM, largestPacket: Int? = nil) {
        (self.descriptor, self.psm, knownPacket) = (descriptor, psm, largestPacket)
    }

    /// Takes over a listening socket of another kind that keeps packets apart, such as `AF_UNIX`'s.
    package convenience init(adopting number: CInt, psm: L2CAPPSM, largestPacket: Int) {
        self.init(SocketDescriptor(number), psm: psm, largestPacket: largestPacket)
    }

    static func start(at own: DeviceAddress) throws(L2CAPError) -> L2CAPListener {
        let (descriptor, number) = try L2CAPKernel.listener(at: own)
        guard let psm = L2CAPPSM(number) else { throw .failed("no free channel number") }
        return L2CAPListener(descriptor, psm: psm)
    }

    /// Waits for the next channel.
    ///
    /// - Throws: ``L2CAPError``, also after `close`; `CancellationError`.
    public func next() async throws -> L2CAPSocket {
        let socket = try await descriptor.use { number in
            while true {
                let accepted = accept4(number, nil, nil, CInt(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue))
                if accepted >= 0 {
                    let descriptor = SocketDescriptor(accepted)
                    do {
                        let largest = try await largestPacket(accepted)
                        return L2CAPSocket(descriptor, largestPacket: largest)
                    } catch is L2CAPError {
                        // Somebody who has gone again, which says nothing about those who come after.
                        descriptor.close()
                        continue
                    }
                }
                switch errno {
                case EAGAIN:
                    let hour = Duration.seconds(3600)
                    guard await SocketDescriptor.wait(for: .readable, on: number, atMost: hour) == .abandoned else {
                        continue
                    }
                    try Task.checkCancellation()
                    throw L2CAPError.failed(L2CAPKernel.words(EMFILE))
                case EINTR, ECONNABORTED: continue
                case let error: throw L2CAPError.failed(L2CAPKernel.words(error))
                }
            }
        }
        guard let socket else { throw L2CAPError.failed(L2CAPKernel.words(EBADF)) }
        return socket
    }

    private func largestPacket(_ number: CInt) async throws -> Int {
        if let knownPacket { return knownPacket }
        return try await L2CAPKernel.largestPacket(number)
    }

    /// Takes no more; again is harmless.
    public func close() { descriptor.close() }
}
