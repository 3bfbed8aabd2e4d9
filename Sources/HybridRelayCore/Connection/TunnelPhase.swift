// SPDX-License-Identifier: Apache-2.0

/// Where a connection stands, and with it what its bytes are.
enum TunnelPhase {
    /// The request has not come to its end.
    case head
    /// A phone, whose client has not come yet.
    case waiting
    /// Both ends are there.
    case paired(TunnelMember)
    /// The last word is said; input is dropped.
    case leaving
}
