// SPDX-License-Identifier: Apache-2.0

/// The answer of a user who has compared the digits and seen what is to be transferred.
package enum TransferAnswer: Hashable, Sendable {
    /// The digits are equal, and the user agrees.
    case agreed
    /// The user does not agree.
    case declined
    /// The digits differ.
    case digitsDiffer

    /// Returns if the user agreed.
    func requireConsent() throws(TransferFailure) {
        switch self {
        case .agreed: return
        case .declined: throw .declined
        case .digitsDiffer: throw .digitsDiffer
        }
    }
}
