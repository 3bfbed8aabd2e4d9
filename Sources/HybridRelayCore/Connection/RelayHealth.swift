// SPDX-License-Identifier: Apache-2.0

/// How a relay is, as those see it who send work to it.
public enum RelayHealth: String, Sendable, CaseIterable {
    /// Not listening yet.
    case starting
    /// Takes new tunnels.
    case ready
    /// Takes no new tunnels; those that wait can still be joined.
    case draining
    /// Listens, but an event loop does not come round.
    case broken
    /// Down.
    case stopped
}
