// SPDX-License-Identifier: Apache-2.0

private import CHybridBluetooth
private import Glibc
public import HybridCaBLE

/// A connected L2CAP channel over Bluetooth LE.
///
/// The channel transmits ordered packets in both directions, up to a size that the receiver chooses. The link is
/// neither paired nor encrypted, and the peer is unauthenticated.
public final class L2CAPSocket: Sendable {
    let descriptor: SocketDescriptor
    /// The maximum packet length of the other device, in bytes.
    public let largestPacket: Int

    init(_ descriptor: SocketDescriptor, largestPacket: Int) {
        self.descriptor = descriptor
        self.largestPacket = largestPacket
    }

    /// Transfers ownership of the nonblocking socket to the caller, who must close it.
    ///
    /// - Returns: The descriptor; `nil` if it is closed, in use, or no longer owned.
    public func handOver() -> CInt? { descriptor.handOver() }

    /// Closes the socket unless its ownership was transferred.
    public func close() { descriptor.close() }
}

/// The route to a device that sent an advert.
public struct L2CAPRoute: Sendable {
    let own: BluetoothAddress
    let other: BluetoothAddress
    let psm: L2CAPPSM

    /// Opens a channel without pairing, within a time limit.
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
public final class L2CAPAcceptingSocket: Sendable {
    private let descriptor: SocketDescriptor
    private let knownPacket: Int?
    /// The PSM to which clients connect.
    public let psm: L2CAPPSM

    /// Creates an accepting socket from a listening one.
    ///
    /// - Parameters:
    ///   - descriptor: The socket.
    ///   - psm: The PSM of the socket.
    ///   - largestPacket: The maximum packet length in bytes, for sockets that do not report it because they are not
    ///     L2CAP sockets.
    init(_ descriptor: SocketDescriptor, psm: L2CAPPSM, largestPacket: Int? = nil) {
        (self.descriptor, self.psm, knownPacket) = (descriptor, psm, largestPacket)
    }

    /// Creates an accepting socket from another kind that preserves packet boundaries, such as `AF_UNIX`.
    package convenience init(adopting number: CInt, psm: L2CAPPSM, largestPacket: Int) {
        self.init(SocketDescriptor(number), psm: psm, largestPacket: largestPacket)
    }

    static func start(at own: BluetoothAddress) throws(L2CAPError) -> L2CAPAcceptingSocket {
        let (descriptor, number) = try L2CAPKernel.acceptingSocket(at: own)
        guard let psm = L2CAPPSM(number) else { throw .failed("no free channel number") }
        return L2CAPAcceptingSocket(descriptor, psm: psm)
    }

    /// Waits for the next connection.
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

    /// Stops accepting connections.
    ///
    /// This method is idempotent.
    public func close() { descriptor.close() }
}

/// The reason why an L2CAP channel cannot be used.
///
/// These errors are seldom fatal, because a ceremony can continue through the relay.
public struct L2CAPError: Error, Hashable, Sendable {
    /// The cause as a short phrase.
    public let reason: String

    /// The bus is not the system bus, so its devices are simulated and unrelated to the kernel's radio.
    public static let virtualRadio = L2CAPError(reason: "the radio is virtual")
    /// BlueZ does not report the device's address.
    public static let addressUnknown = L2CAPError(
        reason: "the Bluetooth service does not report the other device's address"
    )
    /// The device did not answer in time.
    public static let timedOut = L2CAPError(reason: "the other device did not answer in time")

    /// The operation failed for this reason.
    public static func failed(_ reason: String) -> L2CAPError { L2CAPError(reason: reason) }

    /// The kernel rejected the operation with this error number.
    static func system(_ code: CInt) -> L2CAPError { failed(String(cString: strerror(code))) }
}
