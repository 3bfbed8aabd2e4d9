// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import NIOCore
import Testing

@testable import HybridDataChannel

@Suite("Socket options of a tunnel")
struct SocketOptionTests {
    /// The same number at another level is SO_DEBUG, which only root may set; other users could open no tunnel.
    @Test("TCP_NODELAY is set, and no option that requires privileges")
    func noDelay() async throws {
        try await RealRelayTests.relay { endpoint in
            let opened = try await TunnelOpening(relay: endpoint, path: .new(.test), bearerToken: nil).open()
            let noDelay = try await opened.channel.getOption(.tcpOption(.tcp_nodelay)).get()
            #expect(noDelay != 0)
            let debug = ChannelOptions.Types.SocketOption(level: .socket, name: .init(rawValue: 1))
            let isDebugging = try await opened.channel.getOption(debug).get()
            #expect(isDebugging == 0)
            opened.channel.close(promise: nil)
            try await opened.channel.closeFuture.get()
        }
    }
}
