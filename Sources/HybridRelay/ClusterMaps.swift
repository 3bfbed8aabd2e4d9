// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE

/// The maps with which load balancers find the node of a routing ID, with the arithmetic in comments.
struct ClusterMaps {
    /// Number of regions, the first of which is 0.
    let regions: Int
    /// Number of nodes of each region, the first of which is 1.
    let nodes: Int

    /// The maps of all regions, as files of HAProxy.
    var text: String {
        let maps = (0..<regions).map { nodesMap(region: $0) }
        return (maps + (regions > 1 ? [regionsMap] : [])).joined(separator: "\n\n")
    }

    private func nodesMap(region: Int) -> String {
        let title = regions > 1 ? "nodes.map of region \(region)" : "nodes.map"
        let lines = (1...nodes).compactMap { node in
            NodeID(region: region, node: node).flatMap { id in
                // Each region has the same configuration, so its servers are named by their number within the region.
                NodeID(region: 0, node: node).map { server in
                    "# \(region) × \(NodeID.nodes.count) + \(node) = \(id.number), in hexadecimal \(id.hex)\n"
                        + "\(id.hex) n\(server.hex)"
                }
            }
        }
        return "# \(title)\n" + lines.joined(separator: "\n")
    }

    /// The map from regions to their balancers, which is the same in all regions.
    private var regionsMap: String {
        let lines = (0..<regions).compactMap { region in
            NodeID(region: region, node: 0).flatMap { first in
                NodeID(region: region, node: NodeID.nodes.upperBound).map { last in
                    "# nodes \(first.hex) to \(last.hex): their first six bits are \(region)\n\(region) r\(region)"
                }
            }
        }
        return "# regions.map of all regions\n" + lines.joined(separator: "\n")
    }
}
