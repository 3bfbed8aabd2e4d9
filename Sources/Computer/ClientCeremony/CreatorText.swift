// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The phone that has created a key, as the subject of a sentence.
package struct CreatorText: Sendable, CustomStringConvertible {
    /// The text.
    package let description: String

    /// Creates the text.
    ///
    /// - Parameters:
    ///   - linkedPhone: The name of the linked phone that has answered; `nil` for a phone that has scanned the code.
    ///   - named: The name or ID of the linked phone that the user has named, if any.
    package init(linkedPhone: String?, named: String?) {
        if let linkedPhone {
            description = "the linked phone \(SafeText(quoting: linkedPhone))"
        } else if let named {
            // Any device that sees the code can scan it.
            description = "a phone that scanned the code, perhaps not \(SafeText(quoting: named)),"
        } else {
            description = "a phone that scanned the code"
        }
    }
}
