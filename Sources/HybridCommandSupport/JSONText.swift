// SPDX-License-Identifier: Apache-2.0

/// A JSON value on its way out, with the fields of objects in the order in which they are given.
public indirect enum JSONText: Sendable, CustomStringConvertible {
    /// `null`.
    case null
    /// `true` or `false`.
    case boolean(Bool)
    /// A whole number.
    case number(Int)
    /// Not a number and infinity, which JSON does not have, become `null`.
    case decimal(Double)
    /// A string; what a terminal could obey is escaped.
    case text(String)
    /// An array.
    case list([JSONText])
    /// An object.
    case object([(String, JSONText)])

    /// The value on one line, without spaces that mean nothing.
    public var description: String {
        var output = ""
        write(to: &output)
        return output
    }

    private func write(to output: inout String) {
        switch self {
        case .null: output += "null"
        case .boolean(let value): output += value ? "true" : "false"
        case .number(let value): output += String(value)
        case .decimal(let value): output += value.isFinite ? String(value) : "null"
        case .text(let text): Self.quote(text, to: &output)
        case .list(let elements):
            output += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { output += "," }
                element.write(to: &output)
            }
            output += "]"
        case .object(let fields):
            output += "{"
            for (index, (name, value)) in fields.enumerated() {
                if index > 0 { output += "," }
                Self.quote(name, to: &output)
                output += ":"
                value.write(to: &output)
            }
            output += "}"
        }
    }

    /// Characters that a terminal obeys or that break lines are escaped, though JSON asks it only of some of them.
    private static func quote(_ text: String, to output: inout String) {
        output += "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": output += "\\\""
            case "\\": output += "\\\\"
            case "\n": output += "\\n"
            case "\r": output += "\\r"
            case "\t": output += "\\t"
            case " "..."~": output.unicodeScalars.append(scalar)
            default:
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse:
                    for unit in String(scalar).utf16 {
                        output += "\\u" + String(0x10000 + Int(unit), radix: 16).dropFirst()
                    }
                default: output.unicodeScalars.append(scalar)
                }
            }
        }
        output += "\""
    }
}
