// SPDX-License-Identifier: Apache-2.0

public import HybridCaBLE
public import HybridPrimitives

/// What names a tunnel inside a relay: the routing ID given to the phone, and the tunnel ID both ends know.
///
/// The tunnel ID alone is not enough: a phone that lost its network comes back with the same one.
public struct TunnelKey: Hashable, Sendable {
    /// The routing ID this relay drew.
    public let routing: RoutingID
    /// The tunnel ID derived from the QR code.
    public let tunnel: TunnelID

    /// Joins the two.
    public init(routing: RoutingID, tunnel: TunnelID) {
        self.routing = routing
        self.tunnel = tunnel
    }
}

extension TunnelKey: SecretMaterial {}
