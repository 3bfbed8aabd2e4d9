// SPDX-License-Identifier: Apache-2.0

public import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridDataChannel
public import HybridPrimitives

extension ClientFailure: ExplainedFailure {
    /// Cause and remedy in one line, without a full stop.
    public var sentence: String {
        switch self {
        case .radio(let error): error.sentence
        case .relay(let error): error.sentence
        case .phoneNotNearby:
            "no phone was heard nearby; scan the code with a phone that has Bluetooth on and is within a few metres"
        case .unknownRelay: "the phone uses a relay that this program does not know; update it"
        case .phoneSilent: "the phone was heard but did not go on; try again with a new code"
        case .userTimedOut: "nobody confirmed on the phone in time; try again with a new code"
        case .phoneVanished: "the phone went away before it answered; try again with a new code"
        case .phoneOrRelayVanished:
            "the phone went away before it answered, or the relay did; try again with a new code"
        case .notThisPhone: "somebody who did not scan this code tried to answer it; try again with a new code"
        case .phoneLacksCTAP: "the phone can't use passkeys from another device; update it, or take another"
        case .phoneMisbehaved(let how): "the phone broke the protocol: \(how); update it, or take another"
        case .internalFault(let text): "internal fault: \(text); please report it"
        }
    }

    /// What sort of failure it is.
    public var status: ExitStatus {
        switch self {
        case .radio(let error): error.status
        case .relay(let error): error.status
        case .phoneNotNearby, .phoneSilent, .userTimedOut, .phoneVanished, .phoneOrRelayVanished: .temporary
        case .unknownRelay: .unavailable
        case .notThisPhone, .phoneLacksCTAP, .phoneMisbehaved: .dataError
        case .internalFault: .software
        }
    }
}

extension AuthenticatorSessionFailure: ExplainedFailure {
    /// Cause and remedy in one line, without a full stop.
    public var sentence: String {
        switch self {
        case .radio(let error): error.sentence
        case .relay(let error): error.sentence
        case .noClient:
            "the device that shows the code did not hear this one; go nearer, check that its Bluetooth is on, and scan again"
        case .tunnelExpired: "the tunnel ended before the other device joined it; scan the code again"
        case .notVerified:
            "somebody joined the tunnel without having heard this device nearby; nothing was answered, scan a new code"
        case .clientSilent: "the other device joined but asked for nothing; scan a new code"
        case .clientMisbehaved(let how): "the other device broke the protocol: \(how); update its browser"
        case .internalFault(let text): "internal fault: \(text); please report it"
        }
    }

    /// What sort of failure it is.
    public var status: ExitStatus {
        switch self {
        case .radio(let error): error.status
        case .relay(let error): error.status
        case .noClient, .tunnelExpired, .clientSilent: .temporary
        case .notVerified, .clientMisbehaved: .dataError
        case .internalFault: .software
        }
    }
}

extension RadioError: ExplainedFailure {
    /// What sort of failure it is.
    public var status: ExitStatus { self == .timedOut || self == .interrupted ? .temporary : .unavailable }
}
