// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// A relay node among all nodes of a tunnel domain: the first two bytes of a ``RoutingID`` of this project's relay.
///
/// Six bits are the region and ten the node in it. So in region 0, the two bytes are the node's number alone.
public struct NodeID: Hashable, Sendable {
    /// All regions.
    public static let regions = 0...63
    /// All nodes of a region.
    public static let nodes = 0...1023

    /// Both numbers in one: the region times 1024, plus the node.
    public let number: UInt16

    /// Creates an ID from both numbers in one.
    public init(number: UInt16) { self.number = number }

    /// Creates an ID; `nil` if one of the numbers is out of range.
    public init?(region: Int, node: Int) {
        guard Self.regions.contains(region), Self.nodes.contains(node) else { return nil }
        number = UInt16(region * Self.nodes.count + node)
    }

    /// The region.
    public var region: Int { Int(number) / Self.nodes.count }

    /// The node in its region.
    public var node: Int { Int(number) % Self.nodes.count }

    /// The ID as the 4 lower-case hexadecimal digits with which its routing IDs begin.
    public var hex: String { Hex.encode([UInt8(number >> 8), UInt8(number & 0xFF)]) }
}
