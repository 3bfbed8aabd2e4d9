// SPDX-License-Identifier: Apache-2.0

/// A setting and the parser of its text.
///
/// A setting has one name in three forms: `idle-timeout` is the flag `--idle-timeout`, the variable
/// `HYBRID_IDLE_TIMEOUT` and the key `HYBRID_IDLE_TIMEOUT` of the configuration file.
package struct Setting<Value: Sendable>: Sendable {
    /// The setting without its type.
    package let declaration: SettingDeclaration
    /// Parses the texts of the effective source; the array is empty if the setting has no value.
    let read: @Sendable ([String]) throws(SettingParseError) -> Value

    /// Creates a setting that always has a value.
    package init(_ name: String, _ parser: SettingParser<Value>, default defaultText: String, help: String) {
        declaration = SettingDeclaration(name, parser.placeholder, [defaultText], help)
        read = { texts throws(SettingParseError) in try parser.value(of: texts.last ?? defaultText) }
    }

    /// Creates a setting that may have no value.
    package init<Element>(_ name: String, _ parser: SettingParser<Element>, help: String) where Value == Element? {
        declaration = SettingDeclaration(name, parser.placeholder, nil, help)
        read = { texts throws(SettingParseError) in
            guard let text = texts.last else { return nil }
            return try parser.value(of: text)
        }
    }

    /// Creates a setting with any number of values: a repeated flag, or a variable with commas or spaces as separators.
    package init<Element>(
        list name: String,
        _ parser: SettingParser<Element>,
        default defaultTexts: [String]? = nil,
        help: String
    ) where Value == [Element] {
        declaration = SettingDeclaration(name, parser.placeholder, defaultTexts, isList: true, help)
        read = { texts throws(SettingParseError) in try texts.map(parser.value(of:)) }
    }
}

/// The error for a text that a setting does not accept.
package struct SettingParseError: Error {
    let text: String
    let expected: String
}

/// A setting without the type of its value.
package struct SettingDeclaration: Hashable, Sendable {
    /// The name as in the flag, without the leading dashes.
    package let name: String
    /// The placeholder for a value in the flag's help.
    let placeholder: String
    /// The default texts, or `nil` if there is no default.
    package let defaultTexts: [String]?
    /// True if the setting may have several values.
    package let isList: Bool
    /// The purpose, in one sentence.
    package let help: String

    init(_ name: String, _ placeholder: String, _ defaultTexts: [String]?, isList: Bool = false, _ help: String) {
        (self.name, self.placeholder, self.defaultTexts) = (name, placeholder, defaultTexts)
        (self.isList, self.help) = (isList, help)
    }

    /// The prefix of variables and of keys of the file.
    static let variablePrefix = "HYBRID_"

    /// The name as a variable and as a key of the file: `HYBRID_IDLE_TIMEOUT`.
    var variable: String { Self.variablePrefix + name.uppercased().replacing("-", with: "_") }
}

/// A setting of any type.
package protocol AnySetting: Sendable {
    /// The setting without its type.
    var declaration: SettingDeclaration { get }

    /// Parses the texts of the effective source.
    func check(_ texts: [String]) throws(SettingParseError)
}

extension Setting: AnySetting {
    package func check(_ texts: [String]) throws(SettingParseError) { _ = try read(texts) }
}
