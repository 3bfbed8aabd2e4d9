// SPDX-License-Identifier: Apache-2.0

private import CHybridBluetooth
private import Glibc
internal import HybridCaBLE

/// The kernel's L2CAP sockets, which need no privilege and no pairing.
///
/// Source: Linux, net/bluetooth/l2cap_sock.c. A socket with LE addresses uses LE credit-based flow control. Binding to
/// PSM 0 assigns a free PSM from 0x80 to 0xFF.
enum L2CAPKernel {
    /// The maximum length of a received packet, in bytes.
    ///
    /// The peer splits longer data into several packets.
    private static let ownLargestPacket: UInt16 = 4096
    /// The packet length in bytes that every device accepts (Core Specification, volume 3, part A, 4.22).
    private static let leastPacket = 23

    /// Returns a socket that is bound to this computer's adapter, and its descriptor.
    static func socket(at own: BluetoothAddress) throws(L2CAPError) -> (SocketDescriptor, CInt) {
        let kind = CInt(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let number = Glibc.socket(AF_BLUETOOTH, kind, BTPROTO_L2CAP)
        guard number >= 0 else { throw .system(errno) }
        let descriptor = SocketDescriptor(number)
        var address = own.socketAddress(psm: 0)
        // The Noise channel encrypts the data. A higher security level would require pairing, which prompts the user.
        var security = bt_security(level: UInt8(BT_SECURITY_LOW), key_size: 0)
        var largest = ownLargestPacket
        guard withSocketAddress(&address, { bind(number, $0, $1) }) == 0,
            setsockopt(number, SOL_BLUETOOTH, BT_SECURITY, &security, socklen_t(MemoryLayout.size(ofValue: security)))
                == 0,
            setsockopt(number, SOL_BLUETOOTH, BT_RCVMTU, &largest, socklen_t(MemoryLayout.size(ofValue: largest))) == 0
        else { throw .system(errno) }
        return (descriptor, number)
    }

    /// Returns a listening socket and the PSM that the kernel has assigned.
    static func acceptingSocket(at own: BluetoothAddress) throws(L2CAPError) -> (SocketDescriptor, psm: UInt16) {
        let (descriptor, number) = try socket(at: own)
        var address = sockaddr_l2()
        var length = socklen_t(MemoryLayout<sockaddr_l2>.size)
        let isNamed = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(number, $0, &length) }
        }
        guard listen(number, 4) == 0, isNamed == 0 else { throw .system(errno) }
        return (descriptor, UInt16(littleEndian: address.l2_psm))
    }

    /// Starts to connect.
    ///
    /// - Returns: 0, or −1 with the cause in `errno`.
    static func connect(_ number: CInt, to other: BluetoothAddress, _ psm: L2CAPPSM) -> CInt {
        var address = other.socketAddress(psm: psm.rawValue)
        return withSocketAddress(&address) { Glibc.connect(number, $0, $1) }
    }

    /// Returns the result of a connection attempt: 0 or the error number.
    static func pendingError(_ number: CInt) -> CInt {
        var error: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno
    }

    /// Returns the maximum packet length of the other device in bytes.
    ///
    /// The kernel knows this length only a moment after the connection is open, so it is polled for up to 2 seconds.
    static func largestPacket(_ number: CInt) async throws -> Int {
        for _ in 0..<40 {
            var largest: UInt16 = 0
            var length = socklen_t(MemoryLayout<UInt16>.size)
            if getsockopt(number, SOL_BLUETOOTH, BT_SNDMTU, &largest, &length) == 0, largest >= leastPacket {
                return Int(largest)
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw L2CAPError.failed("the other device does not report its maximum packet length")
    }

    private static func withSocketAddress(
        _ address: inout sockaddr_l2,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) -> CInt {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_l2>.size))
            }
        }
    }
}
