// SPDX-License-Identifier: Apache-2.0

internal import HybridCaBLE
public import HybridDataChannel
internal import NIOCore

/// Checks a relay from outside, as an authenticator and a client, and also with behavior that is forbidden to both.
///
/// The checks run one after the other and do not depend on each other's outcomes. Each opens the tunnels it needs,
/// except that checks which only transfer messages share one while it works. The number of connections, the time and
/// the amount of data are limited, so that a run does no harm to other people's relays.
public struct RelayChecker: Sendable {
    private let relay: RelayAddress
    private let options: CheckOptions

    /// Creates a checker of one relay.
    public init(relay: RelayAddress, options: CheckOptions = CheckOptions()) {
        self.relay = relay
        self.options = options
    }

    /// Makes all checks.
    ///
    /// - Parameter progress: Receives each result as soon as it is known.
    /// - Throws: A `TunnelError` if no check can be made.
    public func run(progress: (CheckResult) -> Void = { _ in }) async throws(TunnelError) -> CheckReport {
        let run = try CheckRun(relay: relay, options: options)
        let address: String
        do {
            address = try await run.resolve(by: .now() + TimeAmount(options.timeout))
        } catch {
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
        run.dropShared()
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
        do {
            outcome = try await run.perform(id, by: .now() + TimeAmount(options.timeout))
            if case .differs = outcome { run.dropShared() }
        } catch {
            outcome = error.outcome(after: options.reactionTimeout(of: id))
            run.dropShared()
        }
        await run.closeUnshared()
        return outcome.hiding(options.token)
    }
}

extension CheckRun {
    /// Makes one check.
    func perform(_ id: CheckID, by deadline: NIODeadline) async throws(ProbeError) -> CheckOutcome {
        switch id {
        case .tlsCertificate: try await tlsCertificate(by: deadline)
        case .tlsVersion: try await tlsVersion(by: deadline)
        case .newUpgrade: try await newUpgrade(by: deadline)
        case .newAccept: try await newAccept(by: deadline)
        case .newSubprotocol: try await newSubprotocol(by: deadline)
        case .newRoutingID: try await newRoutingID(by: deadline)
        case .join: try await join(by: deadline)
        case .secondJoin: try await secondJoin(by: deadline)
        case .messagesSmall: try await messages([1, 125, 126, 1000], by: deadline)
        case .messages16K: try await messages([16 << 10], by: deadline)
        case .messagesOrder: try await messagesOrder(by: deadline)
        case .messagesLarge: try await messages([Limits.messageBytes - 1], by: deadline)
        case .ping: try await ping(by: deadline)
        case .roundTrip: try await roundTrip(by: deadline)
        case .closeFromClient: try await close(from: \.client, to: \.phone, by: deadline)
        case .earlyMessages: try await earlyMessages(by: deadline)
        case .closeFromPhone: try await close(from: \.phone, to: \.client, by: deadline)
        case .cutByClient:
            try await cut(\.client, reportedTo: \.phone, within: options.reactionTimeout(of: id), by: deadline)
        case .cutByPhone:
            try await cut(\.phone, reportedTo: \.client, within: options.reactionTimeout(of: id), by: deadline)
        case .uppercaseIDs: try await uppercaseIDs(by: deadline)
        case .origin: try await origin(by: deadline)
        case .unknownTunnel: try await unknownTunnel(by: deadline)
        case .malformedID: try await malformedID(by: deadline)
        case .noSubprotocol: try await noSubprotocol(by: deadline)
        case .unknownPath: try await unknownPath(by: deadline)
        case .contactNotGone: try await contactNotGone(by: deadline)
        case .wrongRoutingID: try await wrongRoutingID(by: deadline)
        case .malformedIDStatus: try await malformedIDStatus(by: deadline)
        case .noUpgrade: try await noUpgrade(by: deadline)
        case .notGet: try await notGet(by: deadline)
        case .noDeflate: try await noDeflate(by: deadline)
        case .tunnelTwice: try await tunnelTwice(by: deadline)
        case .textMessage: try await textMessage(by: deadline)
        case .unmaskedFrame: try await unmaskedFrame(by: deadline)
        case .oversizedMessage: try await oversizedMessage(by: deadline)
        case .slowHead: try await slowHead(by: deadline)
        case .token: try await token(by: deadline)
        }
    }
}
