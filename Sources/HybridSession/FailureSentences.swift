// SPDX-License-Identifier: Apache-2.0

public import BLEAdvert
internal import CaBLE
public import DataChannel

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
        case .notThisPhone: "somebody who did not scan this code tried to answer it; try again with a new code"
        case .phoneLacksCTAP: "the phone can't use passkeys from another device"
        case .phoneMisbehaved(let how): "the phone broke the protocol: \(how)"
        case .internalFault(let text): "internal fault: \(text)"
        }
    }

    /// What sort of failure it is.
    public var kind: FailureKind {
        switch self {
        case .radio(let error): error.kind
        case .relay(let error): error.kind
        case .phoneNotNearby, .phoneSilent, .userTimedOut, .phoneVanished: .temporary
        case .unknownRelay: .unavailable
        case .notThisPhone, .phoneLacksCTAP, .phoneMisbehaved: .badData
        case .internalFault: .fault
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
        case .clientMisbehaved(let how): "the other device broke the protocol: \(how)"
        case .internalFault(let text): "internal fault: \(text)"
        }
    }

    /// What sort of failure it is.
    public var kind: FailureKind {
        switch self {
        case .radio(let error): error.kind
        case .relay(let error): error.kind
        case .noClient, .tunnelExpired, .clientSilent: .temporary
        case .notVerified, .clientMisbehaved: .badData
        case .internalFault: .fault
        }
    }
}

extension RadioError: ExplainedFailure {
    /// What sort of failure it is.
    public var kind: FailureKind { self == .timedOut ? .temporary : .unavailable }
}

extension TunnelError: ExplainedFailure {
    /// Cause and remedy in one line, without a full stop.
    public var sentence: String {
        switch self {
        case .hostNotFound(let host): "the relay \(host) has no address; check the network and the tunnel domain"
        case .connectionRefused(let host): "nothing listens at the relay \(host); is it running?"
        case .unreachable(let host, let reason): "the relay \(host) can't be reached: \(reason)"
        case .timedOut(let stage): "the relay did not answer in time (\(stage.rawValue)); try again"
        case .certificateNotTrusted(let host):
            "the certificate of the relay \(host) is not trusted; if it is your own, name its authority with --cacert"
        case .certificateForOtherHost(let host): "the relay's certificate is not for \(host)"
        case .tlsFailed(let text): "TLS with the relay failed: \(text)"
        case .trustAnchorsUnusable(let path): "\(path) can't be read as certificates (PEM)"
        case .tunnelNotFound:
            "the relay does not know the tunnel: it has expired or is taken; try again with a new code"
        case .notAuthorised: "the relay wants a token, or another one; name its file with --tunnel-token-file"
        case .relayBusy: "the relay is full or shutting down; try again in a minute"
        case .refused(let status): "the relay refused with HTTP status \(status); is it a tunnel relay?"
        case .relayMisbehaved(let how): "the relay broke the protocol: \(how)"
        case .closed(let code): "the tunnel was closed (code \(code))"
        case .stalled: "the relay stopped taking data; try again with a new code"
        case .connectionLost: "the connection to the relay was lost"
        case .messageRefused: "a message could not be opened"
        }
    }

    /// What sort of failure it is.
    public var kind: FailureKind {
        switch self {
        case .hostNotFound, .connectionRefused, .unreachable, .certificateNotTrusted, .certificateForOtherHost,
            .tlsFailed, .notAuthorised, .relayBusy, .refused:
            .unavailable
        case .trustAnchorsUnusable: .noInput
        case .timedOut, .tunnelNotFound, .closed, .stalled, .connectionLost: .temporary
        case .relayMisbehaved, .messageRefused: .badData
        }
    }
}
