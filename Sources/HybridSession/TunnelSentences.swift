// SPDX-License-Identifier: Apache-2.0

public import HybridDataChannel
public import HybridPrimitives

extension TunnelError: ExplainedFailure {
    /// Cause and remedy in one line, without a full stop.
    public var sentence: String {
        switch self {
        case .hostNotFound(let host): "the relay \(host) has no address; check the network and the tunnel domain"
        case .connectionRefused(let host): "nothing listens at the relay \(host); is it running?"
        case .unreachable(let host, let reason): "the relay \(host) can't be reached (\(reason)); check the network"
        case .timedOut(let host, let stage):
            "the relay \(host) did not answer in time (\(stage.rawValue)); try again"
        case .hungUp(let host, .securing):
            "\(host) hung up before TLS began; a relay that is overloaded does that, or a network that does not let it "
                + "through"
        case .hungUp(let host, _): "\(host) hung up without an answer; is it a tunnel relay?"
        case .proxySettingUnusable(let variable, .malformed):
            "\(variable) names no proxy; it should be http://HOST:PORT, with USER:PASSWORD@ in front of HOST if need be"
        case .proxySettingUnusable(let variable, .otherKind(let kind)):
            "\(variable) names a proxy of the kind \(kind); only http proxies can be used"
        case .proxyNotFound(let proxy): "the proxy \(proxy) has no address; check HTTPS_PROXY"
        case .proxyConnectionRefused(let proxy): "nothing listens at the proxy \(proxy); check HTTPS_PROXY"
        case .proxyUnreachable(let proxy, let reason):
            "the proxy \(proxy) can't be reached (\(reason)); check the network and HTTPS_PROXY"
        case .proxySilent(let proxy): "the proxy \(proxy) did not answer in time; try again, or without it"
        case .proxyHungUp(let proxy): "the proxy \(proxy) hung up before it answered; is it an HTTP proxy?"
        case .proxyWantsAuthentication(let proxy):
            "the proxy \(proxy) wants a user and a password; put them into HTTPS_PROXY: http://USER:PASSWORD@HOST:PORT"
        case .proxyRefusesAuthentication(let proxy):
            "the proxy \(proxy) does not take the user and password in HTTPS_PROXY; check them, % and all"
        case .proxyRefused(let proxy, let status):
            "the proxy \(proxy) does not let through to the relay (HTTP status \(status)); ask who runs it"
        case .proxyMisbehaved(let proxy, let how): "the proxy \(proxy) broke the protocol: \(how); is it an HTTP proxy?"
        case .certificateNotTrusted(let host, let issuer?):
            "the certificate for \(host) is not trusted: it was issued by \"\(issuer)\"; if that is your own authority, or "
                + "a network that opens TLS and that you trust, name its certificate with --cacert"
        case .certificateNotTrusted(let host, nil):
            "the certificate for \(host) is not trusted, and does not say who issued it; tell who runs the relay"
        case .certificateSelfSigned(let host):
            "the certificate for \(host) is not trusted: nobody but itself has signed it; if the relay is your own, name "
                + "the certificate with --cacert"
        case .certificateExpired(let host):
            "the certificate for \(host) has expired; check this device's clock, or tell who runs the relay"
        case .certificateNotYetValid(let host):
            "the certificate for \(host) is not valid yet; check this device's clock"
        case .certificateForOtherHost(let host):
            "the relay's certificate is not for \(host); check the tunnel domain, or tell who runs the relay"
        case .tlsFailed(let text): "TLS with the relay failed: \(text); try again, or tell who runs the relay"
        case .trustAnchorsUnusable(let path):
            "\(path) can't be read as certificates (PEM); name another file with --cacert"
        case .tunnelNotFound:
            "the relay does not know the tunnel: it has expired or is taken; try again with a new code"
        case .notAuthorised: "the relay wants a token, or another one; name its file with --tunnel-token-file"
        case .relayBusy: "the relay is full or shutting down; try again in a minute"
        case .refused(let status): "the relay refused with HTTP status \(status); is it a tunnel relay?"
        case .redirectRefused(let host, let fault): "\(host) sends elsewhere, \(fault.rawValue); that is not followed"
        case .tooManyRedirects(let host):
            "relays send from one to the next without end, the last was \(host); tell who runs the first"
        case .relayMisbehaved(let how): "the relay broke the protocol: \(how); is it a tunnel relay?"
        case .closed(let code): "the tunnel was closed (code \(code)); try again with a new code"
        case .stalled: "the relay stopped taking data; try again with a new code"
        case .connectionLost: "the connection to the relay was lost; try again with a new code"
        case .messageRefused: "a message could not be opened; try again with a new code"
        }
    }

    /// What sort of failure it is.
    public var status: ExitStatus {
        switch self {
        case .hostNotFound, .connectionRefused, .unreachable, .proxyNotFound, .proxyConnectionRefused,
            .proxyUnreachable, .proxyHungUp, .proxyWantsAuthentication, .proxyRefusesAuthentication, .proxyRefused,
            .proxyMisbehaved, .certificateNotTrusted, .certificateSelfSigned, .certificateExpired,
            .certificateNotYetValid, .certificateForOtherHost, .tlsFailed, .notAuthorised, .relayBusy, .refused,
            .redirectRefused, .tooManyRedirects:
            .unavailable
        case .proxySettingUnusable: .configuration
        case .trustAnchorsUnusable: .noInput
        case .timedOut, .hungUp, .proxySilent, .tunnelNotFound, .closed, .stalled, .connectionLost: .temporary
        case .relayMisbehaved, .messageRefused: .dataError
        }
    }
}
