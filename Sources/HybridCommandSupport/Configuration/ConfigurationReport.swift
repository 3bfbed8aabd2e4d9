// SPDX-License-Identifier: Apache-2.0

extension Configuration {
    /// The settings as a table for people: name, value and source, each on a line; secrets as `(set)`.
    public var table: String {
        var rows = [["SETTING", "VALUE", "SOURCE"]]
        for entry in entries {
            let source = entry.texts == nil ? "not set" : "\(entry.source)"
            rows.append([entry.declaration.name, entry.shownValue, source].map(StandardError.oneLine))
        }
        let widths = (0..<2).map { column in
            // One long value must not push every source out of sight.
            min(rows.map { $0[column].unicodeScalars.count }.max() ?? 0, 40)
        }
        return rows.map { row in
            zip(row, widths).map { text, width in
                text + String(repeating: " ", count: max(width - text.unicodeScalars.count, 0) + 2)
            }.joined() + (row.last ?? "") + "\n"
        }.joined()
    }

    /// The settings as a JSON array of objects with `name`, `value` (text, array, or null) and `source`; secrets have
    /// `"secret": true` and no value.
    public var json: String { JSONText.list(entries.map(\.json)).description }
}

extension Configuration.Entry {
    fileprivate var shownValue: String {
        guard let texts else { return "-" }
        if declaration.isSecret { return "(set)" }
        let text = texts.joined(separator: ", ")
        return text.isEmpty ? "(empty)" : text
    }

    fileprivate var json: JSONText {
        var fields: [(String, JSONText)] = [("name", .text(declaration.name))]
        if declaration.isSecret {
            fields += [("secret", .boolean(true)), ("set", .boolean(texts != nil))]
        } else if let texts {
            fields.append(("value", declaration.isList ? .list(texts.map(JSONText.text)) : .text(texts.last ?? "")))
        } else {
            fields.append(("value", .null))
        }
        switch source {
        case .flag(let flag): fields += [("source", .text("flag")), ("flag", .text(flag))]
        case .variable(let name): fields += [("source", .text("variable")), ("variable", .text(name))]
        case .file(let path, let line, _):
            fields += [("source", .text("file")), ("file", .text(path)), ("line", .number(line))]
        case .defaultValue: fields.append(("source", .text("default")))
        }
        return .object(fields)
    }
}
