// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
internal import NIOCore

/// What an upgrade gives a connection: its end of a tunnel.
struct UpgradeResult {
    let key: TunnelKey
    let side: TunnelSide
    /// Who waits at the other end; a phone waits for nobody yet.
    let phone: TunnelMember?
    /// The answer to the request.
    let response: ByteBuffer
}

extension TunnelRegistry {
    /// Opens the tunnel that a phone asks for, or joins the one that a client does.
    func seat(_ member: TunnelMember, for request: UpgradeRequest) throws(UpgradeRefusal) -> UpgradeResult {
        switch request.path {
        case .new(let tunnel):
            let key = try open(tunnel, by: member)
            return UpgradeResult(key: key, side: .phone, phone: nil, response: request.response(routing: key.routing))
        case .connect(let routing, let tunnel):
            let key = TunnelKey(routing: routing, tunnel: tunnel)
            let phone = try join(key, by: member)
            return UpgradeResult(key: key, side: .client, phone: phone, response: request.response(routing: nil))
        }
    }
}
