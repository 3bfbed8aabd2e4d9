// SPDX-License-Identifier: Apache-2.0

public import HybridBLEAdvert
public import HybridDataChannel

// The causes by names that programs can rely on. Each cause has one of its own.

extension ClientFailure {
    /// The cause for programs.
    public var code: String {
        switch self {
        case .radio(let error): error.code
        case .relay(let error): error.code
        case .phoneNotNearby: "phone-not-nearby"
        case .unknownRelay: "relay-unknown"
        case .phoneSilent: "phone-silent"
        case .userTimedOut: "not-confirmed-in-time"
        case .phoneVanished, .phoneOrRelayVanished: "phone-vanished"
        case .notThisPhone: "not-this-phone"
        case .phoneLacksCTAP: "phone-lacks-passkeys"
        case .phoneMisbehaved: "phone-misbehaved"
        case .internalFault: "internal-fault"
        }
    }
}

extension AuthenticatorSessionFailure {
    /// The cause for programs.
    public var code: String {
        switch self {
        case .radio(let error): error.code
        case .relay(let error): error.code
        case .noClient: "client-not-nearby"
        case .tunnelExpired: "tunnel-expired"
        case .notVerified: "client-not-verified"
        case .clientSilent: "client-silent"
        case .clientMisbehaved: "client-misbehaved"
        case .internalFault: "internal-fault"
        }
    }
}

extension RadioError {
    /// The cause for programs.
    public var code: String {
        switch self {
        case .noSystemBus: "no-system-bus"
        case .noBluetoothService: "no-bluetooth-service"
        case .noAdapter: "no-adapter"
        case .adapterNotFound: "adapter-not-found"
        case .adapterOff: "adapter-off"
        case .notPermitted: "bluetooth-not-permitted"
        case .noFreeAdvertisingSlot: "no-advertising-slot"
        case .bluetoothServiceGone: "bluetooth-service-gone"
        case .timedOut: "bluetooth-timed-out"
        case .interrupted: "bluetooth-interrupted"
        case .failed: "bluetooth-failed"
        }
    }
}

extension TunnelError {
    /// The cause for programs.
    public var code: String {
        switch self {
        case .hostNotFound: "relay-host-not-found"
        case .connectionRefused: "relay-connection-refused"
        case .unreachable: "relay-unreachable"
        case .timedOut: "relay-timed-out"
        case .hungUp: "relay-hung-up"
        case .proxySettingUnusable: "proxy-setting-unusable"
        case .proxyNotFound: "proxy-host-not-found"
        case .proxyConnectionRefused: "proxy-connection-refused"
        case .proxyUnreachable: "proxy-unreachable"
        case .proxySilent: "proxy-silent"
        case .proxyHungUp: "proxy-hung-up"
        case .proxyWantsAuthentication: "proxy-wants-authentication"
        case .proxyRefusesAuthentication: "proxy-refuses-authentication"
        case .proxyRefused: "proxy-refused"
        case .proxyMisbehaved: "proxy-misbehaved"
        case .certificateNotTrusted: "certificate-not-trusted"
        case .certificateSelfSigned: "certificate-self-signed"
        case .certificateExpired: "certificate-expired"
        case .certificateNotYetValid: "certificate-not-yet-valid"
        case .certificateForOtherHost: "certificate-for-other-host"
        case .tlsFailed: "tls-failed"
        case .trustAnchorsUnusable: "cacert-unusable"
        case .tunnelNotFound: "tunnel-not-found"
        case .notAuthorised: "relay-token-refused"
        case .relayBusy: "relay-busy"
        case .refused: "relay-refused"
        case .redirectRefused: "redirection-refused"
        case .tooManyRedirects: "too-many-redirections"
        case .relayMisbehaved: "relay-misbehaved"
        case .closed: "tunnel-closed"
        case .stalled: "relay-stalled"
        case .connectionLost: "connection-lost"
        case .messageRefused: "message-refused"
        }
    }
}
