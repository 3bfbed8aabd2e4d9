// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The name of the issuer as claimed by a certificate, read from DER (X.690) for error messages.
///
/// The claim is not verified, because the certificate may be untrusted.
struct IssuerName: Equatable, Sendable {
    /// Maximum length of each part that is shown, in Unicode scalars.
    static let maximumLength = 64

    /// The name, made of visible characters and single spaces.
    let text: String
    /// True if issuer and subject have the same name.
    let isSelfSigned: Bool

    /// Reads a certificate (RFC 5280 §4.1); `nil` if it is malformed or its issuer is empty.
    init?(certificate der: [UInt8]) {
        var outer = DERReader(der[...])
        guard var certificate = outer.enter(.sequence), var fields = certificate.enter(.sequence) else { return nil }
        // Optional version; serial number, algorithm, issuer, validity, subject.
        _ = fields.take(.context(0))
        guard fields.take(.integer) != nil, fields.take(.sequence) != nil, let issuer = fields.take(.sequence),
            fields.take(.sequence) != nil, let subject = fields.take(.sequence), let name = Self.name(issuer)
        else { return nil }
        text = name
        isSelfSigned = issuer == subject
    }

    /// Returns the common name and the organization, or one of them; otherwise the organizational unit.
    private static func name(_ der: ArraySlice<UInt8>) -> String? {
        var reader = DERReader(der)
        var values: [[UInt8]: String] = [:]
        // Genuine names have few parts; the limit bounds the time spent on hostile ones.
        for _ in 0..<64 {
            guard let set = reader.take(.set) else { break }
            var inner = DERReader(set)
            guard var pair = inner.enter(.sequence), let kind = pair.take(.objectIdentifier),
                let value = pair.takeText(), values[Array(kind)] == nil
            else { continue }
            let shown = safe(value)
            if !shown.isEmpty { values[Array(kind)] = shown }
        }
        let (common, organization) = (values[[0x55, 4, 3]], values[[0x55, 4, 10]])
        switch (common, organization) {
        case (let common?, let organization?) where common != organization: return "\(common), \(organization)"
        case (let name?, _), (nil, let name?): return name
        case (nil, nil): return values[[0x55, 4, 11]]
        }
    }

    /// Returns the text on one line, shortened and safe for an error message.
    ///
    /// Characters are removed that control a terminal, change the writing direction, end the surrounding quotation
    /// marks, or separate the cause from the remedy.
    private static func safe(_ text: String) -> String {
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
