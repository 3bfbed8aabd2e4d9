// SPDX-License-Identifier: Apache-2.0

/// A part of a sign-in whose time is measured.
package enum SignInStage: String, CaseIterable, Sendable {
    /// From the resolution of the name to the end of the TLS handshake, for each of the two connections.
    case connect
    /// From the phone's request for a tunnel to its response.
    case open
    /// From the client's request to join to its response.
    case join
    /// The two messages of the Noise handshake.
    case handshake
    /// Eight encrypted messages in turns.
    case messages
    /// From the client's close frame to its arrival at the phone.
    case close
    /// The whole sign-in, if it succeeds.
    case total
}

/// The result of one sign-in by a prober.
package struct SignInReport: Sendable {
    /// The stages that were completed, in order.
    package internal(set) var times: [(stage: SignInStage, time: Duration)] = []
    /// The region of the node that the phone reached, according to its routing ID; `nil` if it reached none.
    package internal(set) var region: Int?
    /// The expiry of the relay's certificate in seconds since 1970; `nil` without TLS.
    package internal(set) var certificateExpiry: Int?
    /// The stage that failed, with the reason; `nil` if the sign-in succeeded.
    package internal(set) var failure: (stage: SignInStage, reason: String)?
}
