// SPDX-License-Identifier: Apache-2.0

package import HybridCaBLE
internal import HybridPrimitives

/// The reason that a device sends when it ends a transfer.
///
/// It is as coarse as the other side's user needs it, so that it reveals nothing about the vault.
package enum TransferRefusal: String, CaseIterable, Hashable, Sendable {
    /// The user declined.
    case declined
    /// The user said that the digits differ.
    case digits
    /// The other device speaks another version.
    case version
    /// The other device wants the other purpose: to give passkeys, or to join a vault.
    case purpose
    /// A message broke the rules.
    case malformed
    /// There is no room for the passkeys.
    case full
    /// Both devices have the same vault.
    case sameVault = "same-vault"
    /// Anything else.
    case failed

    /// The message.
    package var frame: TransferFrame { TransferMessage.shortFrame(.refused, [("reason", .string(rawValue))]) }
}
