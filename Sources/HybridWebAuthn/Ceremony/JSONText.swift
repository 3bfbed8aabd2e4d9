// SPDX-License-Identifier: Apache-2.0

/// JSON to be written, with members in the order given.
///
/// Strings are escaped as WebAuthn Level 3 §5.8.1.1 (*CCDToString*) says, because relying parties may compare
/// client data byte for byte.
enum JSONText {
    case string(String)
    case integer(Int)
    case boolean(Bool)
    case array([JSONText])
    case object([(String, JSONText)])

    /// The text, without white space.
    var serialized: String {
        switch self {
        case .string(let text): Self.quoted(text)
        case .integer(let number): String(number)
        case .boolean(let truth): truth ? "true" : "false"
        case .array(let elements): "[" + elements.map(\.serialized).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { Self.quoted($0.0) + ":" + $0.1.serialized }.joined(separator: ",") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{00}"..<"\u{20}":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
