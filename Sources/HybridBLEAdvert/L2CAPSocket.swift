// SPDX-License-Identifier: Apache-2.0

private import CHybridBluetooth
private import Glibc
public import HybridCaBLE

/// A connected L2CAP channel over Bluetooth LE.
///
/// It carries ordered packets in both directions, up to a size that the receiver chooses.
///
/// The link is neither paired nor encrypted, and the peer is unauthenticated.
public final class L2CAPSocket: Sendable {
    let descriptor: SocketDescriptor
    /// The maximum packet length of the other device, in bytes.
    public let largestPacket: Int

    init(_ descriptor: SocketDescriptor, largestPacket: Int) {
        self.descriptor = descriptor
        self.largestPacket = largestPacket
    }

    /// Releases the socket, which is nonblocking, to the caller, who closes it.
    ///
    /// - Returns: The descriptor; `nil` the second time.
    public func handOver() -> CInt? { descriptor.handOver() }

    /// Closes the socket unless it was handed over.
    public func close() { descriptor.close() }
}

/// The route to a device that sent an advert.
public struct L2CAPRoute: Sendable {
    let own: DeviceAddress
    let other: DeviceAddress
    let psm: L2CAPPSM

    /// Connects, without pairing.
    ///
    /// - Throws: ``L2CAPError``, `CancellationError`.
    public func connect(within limit: Duration) async throws -> L2CAPSocket {
        let (descriptor, _) = try L2CAPKernel.socket(at: own)
        return try await descriptor.use { number in
            guard L2CAPKernel.connect(number, to: other, psm) == 0 || errno == EINPROGRESS else {
                throw L2CAPError.system(errno)
            }
            switch await SocketDescriptor.wait(for: .writable, on: number, atMost: limit) {
            case .ready: break
            case .timedOut: throw L2CAPError.timedOut
            case .abandoned:
                try Task.checkCancellation()
                throw L2CAPError.system(EMFILE)
            }
            let error = L2CAPKernel.pendingError(number)
            guard error == 0 else {
                throw error == ETIMEDOUT ? .timedOut : L2CAPError.system(error)
            }
            return L2CAPSocket(descriptor, largestPacket: try await L2CAPKernel.largestPacket(number))
        }
    }
}

/// A socket that accepts L2CAP channels from any device nearby.
public final class L2CAPListener: Sendable {
    private let descriptor: SocketDescriptor
    private let knownPacket: Int?
    /// The PSM to connect to, chosen by the kernel.
    public let psm: L2CAPPSM

    /// - Parameter largestPacket: The maximum packet length, for sockets that are not L2CAP sockets and do not report
    ///   it.
    init(_ descriptor: SocketDescriptor, psm: L2CAPPSM, largestPacket: Int? = nil) {
        (self.descriptor, self.psm, knownPacket) = (descriptor, psm, largestPacket)
    }

    /// Adopts a listening socket of another kind that preserves packet boundaries, such as one of `AF_UNIX`.
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
        try await descriptor.use { number in
            while true {
                let accepted = accept4(number, nil, nil, CInt(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue))
                if accepted >= 0 {
                    let descriptor = SocketDescriptor(accepted)
                    do {
                        let largest = try await largestPacket(accepted)
                        return L2CAPSocket(descriptor, largestPacket: largest)
                    } catch is L2CAPError {
                        // This peer has already disconnected. Others may follow.
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
                    throw L2CAPError.system(EMFILE)
                case EINTR, ECONNABORTED: continue
                case let error: throw L2CAPError.system(error)
                }
            }
        }
    }

    private func largestPacket(_ number: CInt) async throws -> Int {
        if let knownPacket { return knownPacket }
        return try await L2CAPKernel.largestPacket(number)
    }

    /// Stops accepting channels.
    ///
    /// Idempotent.
    public func close() { descriptor.close() }
}

/// The reason why there is no L2CAP channel.
///
/// A ceremony continues through the relay, so these errors are seldom fatal.
public struct L2CAPError: Error, Hashable, Sendable {
    /// The cause in a few reason.
    public let reason: String

    /// The bus is not the system's own.
    ///
    /// Its devices are simulated and unrelated to the kernel's radio.
    public static let virtualRadio = L2CAPError(reason: "the radio is virtual")
    /// BlueZ does not report the device's address.
    public static let addressUnknown = L2CAPError(
        reason: "the Bluetooth service does not report the other device's address"
    )
    /// The device did not answer in time.
    public static let timedOut = L2CAPError(reason: "the other device did not answer in time")

    /// The kernel rejects the operation.
    public static func failed(_ reason: String) -> L2CAPError { L2CAPError(reason: reason) }

    /// The kernel rejects the operation with an error number.
    static func system(_ code: CInt) -> L2CAPError { failed(String(cString: strerror(code))) }
}
