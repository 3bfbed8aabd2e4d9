// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import HybridNetwork

/// Checks that the name shown of an untrusted certificate is one line without control characters.
func fuzzIssuerName(_ input: [UInt8]) throws -> Bool {
    guard let name = IssuerName(certificate: input) else { return false }
    let scalars = Array(name.text.unicodeScalars)
    // Two names of limited length, each with an ellipsis, and a comma.
    try invariant((1...2 * IssuerName.maximumLength + 4).contains(scalars.count), "a name is short")
    for scalar in scalars {
        try invariant(scalar != "\"" && scalar != ";", "it does not end the quotation")
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .nonspacingMark, .enclosingMark:
            try invariant(false, "a terminal may obey \(scalar.value)")
        default: break
        }
    }
    try invariant(IssuerName(certificate: input) == name, "reading is deterministic")
    return true
}
