// SPDX-License-Identifier: Apache-2.0

/// What the client is going to ask for; a hint for the phone's first screen, not binding.
public enum RequestHint: String, Hashable, Sendable {
    /// Sign in.
    case getAssertion = "ga"
    /// Create a passkey.
    case makeCredential = "mc"
    /// Present a digital credential.
    case presentCredential = "dcp"
    /// Issue a digital credential.
    case issueCredential = "dci"
}

/// How messages may travel once the phone was heard (CTAP 2.3, QR key 6).
public enum DataChannelKind: Int, Hashable, Sendable {
    /// Through the relay.
    case webSocket = 0
    /// Over a Bluetooth LE L2CAP channel.
    case l2cap = 1
}
