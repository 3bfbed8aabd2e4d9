// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// How much the page's server bears, and how long it waits.
public struct PageLimits: Sendable {
    /// Connections at a time; more are hung up on.
    public var connections = 16
    /// Event streams at a time; each tab has one.
    public var streams = 4
    /// All that one connection may say, in bytes.
    ///
    /// Browsers send this address the cookies of every port, hence so many.
    public var requestBytes = 16384
    /// For a whole request and for taking its answer.
    public var patience = TimeAmount.seconds(5)
    /// Without an event stream, after there was one, until the page counts as closed.
    public var absence = TimeAmount.seconds(3)
    /// For taking the last event.
    public var closeTimeout = TimeAmount.seconds(1)

    /// The usual bounds.
    public init() {}
}

/// Why a ceremony must end that a page was opened for.
public enum PageAbandonment: Equatable, Sendable {
    /// The page was closed.
    case closed
    /// The token was used a second time: one of the two was not the browser that this program started.
    case openedTwice
}

/// Why there is no page.
public enum PageError: Error, Equatable, Sendable {
    /// No socket could listen on 127.0.0.1; the text says why.
    case noPort(String)
    /// The system does not tell whose a socket is, so other users of this device could open the page.
    case ownersUnknown

    /// Cause and remedy in one line, without a full stop.
    public var sentence: String {
        switch self {
        case .noPort(let reason): "no page can be served on 127.0.0.1: \(reason); try again without --open"
        case .ownersUnknown:
            "/proc/net/tcp can't be read, so the page could not be kept from other users; try again without --open"
        }
    }
}
