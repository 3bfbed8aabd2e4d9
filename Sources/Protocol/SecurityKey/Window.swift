// SPDX-License-Identifier: Apache-2.0

internal import HybridCTAP

/// The open window and the request that waits for it.
struct Window {
    /// The purpose of a window.
    enum Content {
        /// The user shall select this key; afterwards the client receives this status.
        case presence(CTAPStatus)
        /// The phone is asked.
        case phone(PhoneRequest)
        /// The user reads a message; afterwards the client receives this status.
        case notice(CTAPStatus)
    }

    let id: WindowID
    let transaction: TransactionID
    let content: Content
    /// The moment at which the window closes if its user does nothing.
    let end: Duration

    init(id: WindowID, transaction: TransactionID, content: Content, at now: Duration) {
        self.id = id
        self.transaction = transaction
        self.content = content
        end = now + SecurityKey.windowLifetime
    }

    /// Returns the same window with another content, and with its whole lifetime left.
    func showing(_ content: Content, at now: Duration) -> Window {
        Window(id: id, transaction: transaction, content: content, at: now)
    }
}

/// The number of windows in a span of time, so that a page cannot wear the user down with requests.
package struct WindowLimit: Sendable {
    /// Maximum number of windows in ``span``.
    static let maximumCount = 3
    static let span = Duration.seconds(60)

    private var openings: [Duration] = []

    /// Creates a limit that has counted no window.
    package init() {}

    /// Counts a window.
    ///
    /// - Parameter now: The duration since any fixed moment.
    /// - Returns: `false` if it must not open.
    package mutating func open(at now: Duration) -> Bool {
        openings.removeAll { $0 + Self.span <= now }
        guard openings.count < Self.maximumCount else { return false }
        openings.append(now)
        return true
    }

    /// Forgets the last window, for example because its user has confirmed the request.
    package mutating func forgetLast() { _ = openings.popLast() }
}
