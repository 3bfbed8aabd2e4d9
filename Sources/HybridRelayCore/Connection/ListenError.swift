// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import NIOCore

/// An address that could not be listened on.
public struct ListenError: Error, Equatable, Sendable {
    /// `HOST:PORT`, as an operator writes it.
    public let place: String
    /// The system's number for what is in the way; 0 if it has none.
    public let code: CInt

    init(_ address: SocketAddress, _ error: any Error) {
        place = address.hostAndPort
        code = (error as? IOError)?.errnoCode ?? 0
    }

    /// What is in the way, and what to do.
    public var sentence: String {
        switch code {
        case EADDRINUSE: "cannot listen on \(place): another program does already; end it, or choose another port"
        case EACCES: "may not listen on \(place): ports below 1024 need the capability CAP_NET_BIND_SERVICE"
        case EADDRNOTAVAIL: "cannot listen on \(place): that is no address of this machine"
        case 0: "cannot listen on \(place)"
        default: "cannot listen on \(place): \(String(cString: strerror(code)))"
        }
    }
}
