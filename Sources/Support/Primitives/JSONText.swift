// SPDX-License-Identifier: Apache-2.0

/// A JSON value; the members of an object keep their order.
///
/// All JSON from outside is parsed by ``init(parsing:maximumValues:mayBeMarked:)``. A ``JSONCursor`` reads records from the result and
/// reports malformed members by their paths; the accessors of this type return `nil` for them.
public enum JSONText: Sendable, CustomStringConvertible {
    /// `null`.
    case null
    /// `true` or `false`.
    case boolean(Bool)
    /// An integer.
    case number(Int)
    /// A floating-point number; infinity and NaN, which JSON lacks, become `null`.
    case decimal(Double)
    /// A number as it was parsed.
    case numeral(String)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONText])
    /// An object.
    case object([(String, JSONText)])

    /// Returns bytes as a string in base64url.
    public static func bytes(_ bytes: [UInt8]) -> JSONText { .string(Base64URL.encode(bytes)) }

    /// Rules for escaping the characters of strings; each results in valid JSON.
    public enum Escaping: Sendable {
        /// Escapes all characters that a terminal interprets or that break lines, for standard output and logs.
        case terminalSafe
        /// Escapes as *CCDToString* does (WebAuthn Level 3 §5.8.1.1), because servers may compare client data byte by
        /// byte.
        case clientData
    }

    /// The value on one line, without optional white space; safe for terminals.
    public var description: String { serialized(.terminalSafe) }

    /// Returns the value on one line, without optional white space.
    public func serialized(_ escaping: Escaping) -> String {
        var output = ""
        write(to: &output, escaping)
        return output
    }

    private func write(to output: inout String, _ escaping: Escaping) {
        switch self {
        case .null: output += "null"
        case .boolean(let value): output += value ? "true" : "false"
        case .number(let value): output += String(value)
        case .decimal(let value): output += value.isFinite ? String(value) : "null"
        case .numeral(let text): output += text
        case .string(let text): Self.quote(text, to: &output, escaping)
        case .array(let elements):
            output += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { output += "," }
                element.write(to: &output, escaping)
            }
            output += "]"
        case .object(let members):
            output += "{"
            for (index, (name, value)) in members.enumerated() {
                if index > 0 { output += "," }
                Self.quote(name, to: &output, escaping)
                output += ":"
                value.write(to: &output, escaping)
            }
            output += "}"
        }
    }

    private static func quote(_ text: String, to output: inout String, _ escaping: Escaping) {
        output += "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": output += "\\\""
            case "\\": output += "\\\\"
            case "\n" where escaping == .terminalSafe: output += "\\n"
            case "\r" where escaping == .terminalSafe: output += "\\r"
            case "\t" where escaping == .terminalSafe: output += "\\t"
            case " "..."~": output.unicodeScalars.append(scalar)
            default:
                guard mustEscape(scalar, escaping) else {
                    output.unicodeScalars.append(scalar)
                    continue
                }
                for unit in String(scalar).utf16 {
                    output += "\\u" + String(0x10000 + Int(unit), radix: 16).dropFirst()
                }
            }
        }
        output += "\""
    }

    private static func mustEscape(_ scalar: Unicode.Scalar, _ escaping: Escaping) -> Bool {
        guard escaping == .terminalSafe else { return scalar < " " }
        return switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse: true
        default: false
        }
    }
}
