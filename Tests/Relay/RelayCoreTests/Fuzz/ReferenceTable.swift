// SPDX-License-Identifier: Apache-2.0

import HybridCaBLE
import NIOCore

@testable import HybridRelayCore

/// Reference implementation of the tunnel table: a list that is searched linearly.
struct ReferenceTable {
    enum Phase: Equatable {
        case waiting
        case paired(lastData: NIODeadline)
        case closing(TunnelEndReason)
    }

    struct Tunnel {
        let key: TunnelIdentity
        let opened: NIODeadline
        var phone: Int?
        var client: Int?
        var phase = Phase.waiting
        var wasPaired = false
        var bytes = 0
    }

    typealias CloseCodes = [Int: CloseCode?]

    let limits: RelayLimits
    let node: UInt16
    /// Tunnels in the order of opening.
    private(set) var tunnels: [Tunnel] = []
    /// True if any tunnel was paired.
    private(set) var wasPaired = false

    init(limits: RelayLimits, node: UInt16) {
        self.limits = limits
        self.node = node
    }

    func holds(_ key: TunnelIdentity, _ side: TunnelSide) -> Bool {
        tunnels.contains { $0.key == key && (side == .phone ? $0.phone : $0.client) != nil }
    }

    mutating func open(
        _ tunnel: TunnelID,
        by phone: Int,
        check: UInt8,
        now: NIODeadline
    ) -> (key: TunnelIdentity, closeInstructions: CloseCodes)? {
        guard tunnels.count < limits.tunnels else { return nil }
        var free = check
        while index(TunnelIdentity(routing: RoutingID(node: node, check: free), tunnel: tunnel)) != nil { free &+= 1 }
        let key = TunnelIdentity(routing: RoutingID(node: node, check: free), tunnel: tunnel)
        let waiting = tunnels.filter { $0.key.tunnel == tunnel && $0.phase == .waiting }
        var closeInstructions: CloseCodes = [:]
        if waiting.count == limits.waitingPerTunnelID { closeInstructions = end(waiting[0].key, .superseded) }
        tunnels.append(Tunnel(key: key, opened: now, phone: phone))
        return (key, closeInstructions)
    }

    mutating func join(_ key: TunnelIdentity, by client: Int, now: NIODeadline) -> Int? {
        guard let index = index(key), tunnels[index].phase == .waiting else { return nil }
        tunnels[index].client = client
        tunnels[index].phase = .paired(lastData: now)
        tunnels[index].wasPaired = true
        wasPaired = true
        return tunnels[index].phone
    }

    mutating func recordData(_ key: TunnelIdentity, now: NIODeadline) {
        guard let index = index(key), case .paired = tunnels[index].phase else { return }
        tunnels[index].phase = .paired(lastData: now)
    }

    mutating func end(_ key: TunnelIdentity, _ reason: TunnelEndReason) -> CloseCodes {
        guard let index = index(key) else { return [:] }
        if case .closing = tunnels[index].phase { return [:] }
        tunnels[index].phase = .closing(reason)
        var closeInstructions: CloseCodes = [:]
        if let phone = tunnels[index].phone { closeInstructions[phone] = .some(reason.closeCode(for: .phone)) }
        if let client = tunnels[index].client { closeInstructions[client] = .some(reason.closeCode(for: .client)) }
        return closeInstructions
    }

    mutating func leave(
        _ key: TunnelIdentity,
        _ side: TunnelSide,
        bytes: Int,
        now: NIODeadline
    ) -> (closeInstructions: CloseCodes, record: TunnelSummary?) {
        guard let index = index(key) else { return ([:], nil) }
        if side == .phone { tunnels[index].phone = nil } else { tunnels[index].client = nil }
        tunnels[index].bytes += bytes
        let isPaired = tunnels[index].wasPaired
        let closeInstructions = end(key, isPaired ? .vanished(side) : .abandoned)
        let tunnel = tunnels[index]
        guard tunnel.phone == nil, tunnel.client == nil, case .closing(let reason) = tunnel.phase else {
            return (closeInstructions, nil)
        }
        tunnels.remove(at: index)
        let record = TunnelSummary(
            reason: reason,
            wasPaired: tunnel.wasPaired,
            lifetime: now - tunnel.opened,
            bytes: tunnel.bytes
        )
        return (closeInstructions, record)
    }

    mutating func sweep(now: NIODeadline) -> CloseCodes {
        var closeInstructions: CloseCodes = [:]
        for tunnel in tunnels {
            let tooOld = now >= tunnel.opened + limits.lifetime
            let tooQuiet: (Bool, TunnelEndReason)
            switch tunnel.phase {
            case .waiting: tooQuiet = (now >= tunnel.opened + limits.waiting, .unclaimed)
            case .paired(let lastData): tooQuiet = (now >= lastData + limits.idle, .idle)
            case .closing: continue
            }
            // The earlier deadline is the reason.
            let isQuietFirst = tooQuiet.0 && quietDeadline(tunnel) <= tunnel.opened + limits.lifetime
            guard tooOld || tooQuiet.0 else { continue }
            closeInstructions.merge(end(tunnel.key, isQuietFirst ? tooQuiet.1 : .outlived)) { first, _ in first }
        }
        return closeInstructions
    }

    private func quietDeadline(_ tunnel: Tunnel) -> NIODeadline {
        if case .paired(let lastData) = tunnel.phase { return lastData + limits.idle }
        return tunnel.opened + limits.waiting
    }

    private func index(_ key: TunnelIdentity) -> Int? { tunnels.firstIndex { $0.key == key } }
}
