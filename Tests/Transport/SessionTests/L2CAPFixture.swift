// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Glibc
import HybridBLEAdvert
import HybridCTAP
import HybridCaBLE
import HybridDataChannel
import HybridPrimitives
import Testing

@testable import HybridSession

/// A listening socket that preserves packet boundaries, as L2CAP does.
struct TestAcceptingSocket: Sendable {
    let socket: L2CAPAcceptingSocket
    private let path: String

    init() throws {
        path = NSTemporaryDirectory() + "accepting-\(UInt64.random(in: .min ... .max))"
        let number = Self.socket()
        var address = try Self.address(path)
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(number >= 0 && bound == 0 && listen(number, 64) == 0)
        socket = L2CAPAcceptingSocket(adopting: number, psm: try #require(L2CAPPSM(0x80)), largestPacket: 672)
    }

    /// Connects a peer.
    func connect() throws -> CInt {
        let number = Self.socket()
        var address = try Self.address(path)
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard connected == 0 else {
            let error = errno
            close(number)
            throw Refused(error: error)
        }
        return number
    }

    /// True if a connection is accepted.
    var isAccepting: Bool {
        guard let number = try? connect() else { return false }
        return close(number) == 0
    }

    struct Refused: Error { let error: CInt }

    func remove() { unlink(path) }

    private static func socket() -> CInt {
        let kind = CInt(SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        return Glibc.socket(AF_UNIX, kind, 0)
    }

    private static func address(_ path: String) throws -> sockaddr_un {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        try #require(path.utf8.count < room)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return address
    }
}

/// Both ends of a ceremony before the handshake.
struct L2CAPFixture {
    let acceptingSocket: TestAcceptingSocket
    var pending: PendingClientConnection
    let clientKey = P256.KeyAgreement.PrivateKey(compactRepresentable: false)

    /// Creates a ceremony that begins with the code of a sign-in, or with another one.
    init(_ keys: (P256.KeyAgreement.PublicKey) -> CodeKeys = Self.signIn) throws {
        acceptingSocket = try TestAcceptingSocket()
        let domain = try #require(TunnelDomain(id: 266))
        pending = PendingClientConnection(
            keys: keys(clientKey.publicKey),
            domain: domain,
            tunnel: nil,
            acceptingSocket: acceptingSocket.socket
        )
        // Long enough for a busy computer.
        pending.firstMessageTimeout = .seconds(300)
    }

    static func signIn(_ key: P256.KeyAgreement.PublicKey) -> CodeKeys {
        QROffer(
            clientKey: key,
            secret: QRSecret(checked: [UInt8](repeating: 8, count: QRSecret.length)),
            created: 1_700_000_000,
            hint: .getAssertion,
            channels: [.webSocket, .l2cap]
        ).keys
    }

    /// Returns the keys of a transfer with the same secret.
    static func transfer(_ key: P256.KeyAgreement.PublicKey) -> CodeKeys {
        TransferCode(
            receiverKey: key,
            secret: TransferSecret(checked: [UInt8](repeating: 8, count: TransferSecret.length)),
            created: 1_700_000_000,
            purpose: .give,
            channels: [.webSocket, .l2cap]
        ).keys
    }

    /// Returns a client that received the advert of this fixture or another one.
    func client(receiving eid: EID? = nil) -> NearbyPhone {
        NearbyPhone(
            keys: pending.keys,
            clientKey: clientKey,
            offersLinking: false,
            eid: eid ?? pending.eid,
            l2capRoute: nil
        )
    }

    func channel() throws -> L2CAPChannel { L2CAPChannel(adopting: try acceptingSocket.connect(), largestPacket: 672) }

    /// Serves the authenticator's side up to the first request.
    func serve(_ info: AuthenticatorInfo) async throws -> ServedClient {
        let verified = try await pending.awaitClient { _ in }
        #expect(verified.transport.kind == .l2cap)
        return try await verified.completeHandshake(info)
    }
}
