// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// Who issued a certificate, in its own words: read from DER (X.690) as far as a person has to be told.
///
/// Says nothing about whether that is true: it is asked for where a certificate is not trusted, too.
struct IssuerName: Equatable, Sendable {
    /// The longest name that is shown, in characters (Unicode scalars).
    static let maximumLength = 64

    /// The name, of visible characters and single spaces.
    let text: String
    /// Whether issuer and subject have the same name.
    let isSelfSigned: Bool

    /// Reads a certificate (RFC 5280 §4.1); `nil` if it has another form or names nobody.
    init?(certificate der: [UInt8]) {
        var outer = DERReader(der[...])
        guard var certificate = outer.enter(.sequence),
            var fields = certificate.enter(.sequence)
        else { return nil }
        // Version, which may be missing; serial number, algorithm, issuer, validity, subject.
        _ = fields.take(.context(0))
        guard fields.take(.integer) != nil, fields.take(.sequence) != nil, let issuer = fields.take(.sequence),
            fields.take(.sequence) != nil, let subject = fields.take(.sequence)
        else { return nil }
        guard let name = Self.name(issuer) else { return nil }
        text = name
        isSelfSigned = issuer == subject
    }

    /// The common name and the organisation, or what there is of them.
    private static func name(_ der: ArraySlice<UInt8>) -> String? {
        var reader = DERReader(der)
        var values: [[UInt8]: String] = [:]
        // A name has a few parts; one that has hundreds is not worth the time.
        for _ in 0..<64 {
            guard let set = reader.take(.set) else { break }
            var inner = DERReader(set)
            guard var pair = inner.enter(.sequence), let kind = pair.take(.objectIdentifier),
                let value = pair.takeText(), values[Array(kind)] == nil
            else { continue }
            let shown = harmless(value)
            if !shown.isEmpty { values[Array(kind)] = shown }
        }
        let (common, organisation) = (values[[0x55, 4, 3]], values[[0x55, 4, 10]])
        switch (common, organisation) {
        case (let common?, let organisation?) where common != organisation: return "\(common), \(organisation)"
        case (let name?, _), (nil, let name?): return name
        case (nil, nil): return values[[0x55, 4, 11]]
        }
    }

    /// Bounded, on one line, and nothing that a terminal obeys, that changes the direction of writing, or that ends the
    /// quotation in which it is shown or the cause in front of the remedy.
    private static func harmless(_ text: String) -> String {
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            guard shown.count < maximumLength else {
                shown.append("…")
                break
            }
            switch scalar.properties.generalCategory {
            case .spaceSeparator: if let last = shown.last, last != " " { shown.append(" ") }
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse,
                .nonspacingMark, .enclosingMark, .spacingMark, .initialPunctuation, .finalPunctuation:
                continue
            default: if scalar != "\"", scalar != ";" { shown.append(scalar) }
            }
        }
        while shown.last == " " { shown.removeLast() }
        return String(shown)
    }
}
