// SPDX-License-Identifier: Apache-2.0

@testable import HybridDataChannel

/// A certificate that nobody trusts: what is shown of it is one line that a terminal does not obey.
func fuzzIssuerName(_ input: [UInt8]) throws -> Bool {
    guard let name = IssuerName(certificate: input) else { return false }
    let scalars = Array(name.text.unicodeScalars)
    // Two names of at most so many characters, each with the mark that it was cut, and a comma.
    try invariant((1...2 * IssuerName.maximumLength + 4).contains(scalars.count), "a name is short")
    for scalar in scalars {
        try invariant(scalar != "\"" && scalar != ";", "it does not end its quotation")
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .nonspacingMark, .enclosingMark:
            throw BrokenInvariant(description: "broken: a terminal may obey \(scalar.value)")
        default: break
        }
    }
    try invariant(IssuerName(certificate: input) == name, "it is read alike each time")
    return true
}
