// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
package import HybridNetwork
internal import HybridPrimitives
internal import NIOCore

/// A checker that tests a relay from outside, as an authenticator and as a client.
///
/// It also shows behavior that is forbidden to both. The checks run one after the other and do not depend on each
/// other's outcomes. Each opens the tunnels that it needs, but checks that only transfer messages share one as long as
/// it works. The number of connections, the time and the amount of data are limited, so that a run does no harm to
/// other operators' relays.
package struct RelayChecker: Sendable {
    private let relay: RelayAddress
    private let options: CheckOptions

    /// Creates a checker of one relay.
    package init(relay: RelayAddress, options: CheckOptions = CheckOptions()) {
        self.relay = relay
        self.options = options
    }

    /// Makes all checks.
    ///
    /// - Parameter progress: Receives each result as soon as it is known.
    /// - Throws: A `NetworkError` if no check can be made.
    package func run(progress: (CheckResult) -> Void = { _ in }) async throws(NetworkError) -> CheckReport {
        let run = try CheckRun(relay: relay, options: options)
        let address: String
        run.deadline = .now() + TimeAmount(options.timeout)
        do {
            address = try await run.resolve()
        } catch {
            if case .unreachable(ProbeError.refused) = error { throw .connectionRefused(relay.description) }
            let reason =
                if case .unreachable(let why) = error { why } else { "no answer within \(options.timeout.words)" }
            throw .unreachable(host: relay.description, reason: reason)
        }
        var results: [CheckResult] = []
        for id in CheckID.allCases {
            let result = CheckResult(id: id, outcome: await outcome(of: id, in: run))
            results.append(result)
            progress(result)
        }
        run.shared = nil
        await run.closeUnshared()
        return CheckReport(
            relay: relay.description,
            address: address,
            results: results,
            connections: run.connections,
            requiresToken: run.requiresToken
        )
    }

    private func outcome(of id: CheckID, in run: CheckRun) async -> CheckOutcome {
        if let why = run.abortReason { return .prevented(why) }
        let outcome: CheckOutcome
        run.deadline = .now() + TimeAmount(options.timeout)
        do {
            outcome = try await run.perform(id)
            if case .differs = outcome { run.shared = nil }
        } catch {
            outcome = error.outcome(after: options.reactionTimeout(of: id))
            run.shared = nil
        }
        await run.closeUnshared()
        return outcome.hiding(options.token)
    }
}

extension CheckRun {
    /// Makes one check.
    func perform(_ id: CheckID) async throws(ProbeError) -> CheckOutcome {
        switch id {
        case .tlsCertificate: try await tlsCertificate()
        case .tlsVersion: try await tlsVersion()
        case .newUpgrade: Self.upgrade(try await firstOpening().response)
        case .newAccept: Self.accept(try await acceptedOpening())
        case .newSubprotocol: Self.subprotocol(try await acceptedOpening().response)
        case .newRoutingID: try await newRoutingID()
        case .join: try await join()
        case .secondJoin: try await expect(404, ProbeRequest(try await sharedTunnel().path.text))
        case .messagesSmall: try await messages([1, 125, 126, 1000])
        case .messages16K: try await messages([16 << 10])
        case .messagesOrder: try await messagesOrder()
        case .messagesLarge: try await messages([Limits.messageBytes - 1])
        case .ping: try await ping()
        case .roundTrip: try await roundTrip()
        case .closeFromClient: try await close(from: \.client, to: \.phone)
        case .earlyMessages: try await earlyMessages()
        case .closeFromPhone: try await close(from: \.phone, to: \.client)
        case .cutByClient: try await cut(\.client, reportedTo: \.phone, within: options.reactionTimeout(of: id))
        case .cutByPhone: try await cut(\.phone, reportedTo: \.client, within: options.reactionTimeout(of: id))
        case .uppercaseIDs: try await uppercaseIDs()
        case .origin: try await origin()
        case .unknownTunnel: try await unknownTunnel()
        case .malformedID: try await malformedIDs { (400...499).contains($0) && $0 != 410 }
        case .noSubprotocol: try await expect(400, newRequest { $0.subprotocol = nil })
        case .unknownPath: try await expect(404, ProbeRequest("/cable/other/\(TunnelID.random().hex)"))
        case .contactNotGone: try await contactNotGone()
        case .wrongRoutingID: try await wrongRoutingID()
        case .malformedIDStatus: try await malformedIDs { $0 == 400 }
        case .noUpgrade: try await expect(426, newRequest { $0.requestsUpgrade = false })
        case .notGet:
            try await expect(405, newRequest { ($0.method, $0.fields) = ("POST", [("Content-Length", "0")]) })
        case .noDeflate: try await noDeflate()
        case .tunnelTwice: try await tunnelTwice()
        case .textMessage:
            try await violation(ProbeFrame(opcode: .text, payload: Array("text".utf8)).bytes(), closedWith: 1003)
        case .unmaskedFrame:
            try await violation(ProbeFrame(opcode: .binary, payload: [1]).bytes(masked: false), closedWith: 1002)
        case .oversizedMessage: try await oversizedMessage()
        case .slowHead: try await slowHead()
        case .token: try await token()
        case .listenProof: try await listenProof()
        case .listenBadProof: try await listenBadProof()
        case .listenOtherKey: try await listenOtherKey()
        case .listenOtherHost: try await listenOtherHost()
        case .listenReplaced: try await listenReplaced()
        case .contactWake: try await contactWake()
        case .contactHeld: try await contactHeld()
        case .contactDeclined: try await contactDeclined()
        case .contactRevoked: try await contactRevoked()
        case .contactLimit: try await contactLimit()
        case .contactNoPhone: try await contactNoPhone()
        }
    }
}
