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
        declaration = SettingDeclaration(name: name, defaultTexts: [defaultText], isList: false, help: help)
        read = { texts throws(SettingParseError) in try parser.value(of: texts.last ?? defaultText) }
    }

    /// Creates a setting that may have no value.
    package init<Element>(_ name: String, _ parser: SettingParser<Element>, help: String) where Value == Element? {
        declaration = SettingDeclaration(name: name, defaultTexts: nil, isList: false, help: help)
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
        declaration = SettingDeclaration(name: name, defaultTexts: defaultTexts, isList: true, help: help)
        read = { texts throws(SettingParseError) in try texts.map(parser.value(of:)) }
    }

    /// The help text of the flag, with the default.
    package var help: String {
        guard let texts = declaration.defaultTexts else { return declaration.help }
        return "\(declaration.help) (default: \(texts.joined(separator: ", ")))"
    }
}

/// The error for a text that a setting does not accept.
struct SettingParseError: Error {
    let text: String
    let expected: String
}

/// A setting without the type of its value.
package struct SettingDeclaration: Hashable, Sendable {
    /// The name as in the flag, without the leading dashes.
    package let name: String
    /// The default texts, or `nil` if there is no default.
    package let defaultTexts: [String]?
    /// True if the setting may have several values.
    package let isList: Bool
    /// The purpose, in one sentence.
    package let help: String

    /// The prefix of variables and of keys of the file.
    static let variablePrefix = "HYBRID_"

    /// The name as a variable and as a key of the file: `HYBRID_IDLE_TIMEOUT`.
    var variable: String { Self.variablePrefix + name.uppercased().replacing("-", with: "_") }
}

/// A setting with its type erased, so that settings of all types fit in one list.
package struct AnySetting: Sendable {
    /// The setting.
    package let declaration: SettingDeclaration
    let check: @Sendable ([String]) throws(SettingParseError) -> Void

    /// Creates a type-erased setting.
    package init<Value>(_ setting: Setting<Value>) {
        declaration = setting.declaration
        let read = setting.read
        check = { texts throws(SettingParseError) in _ = try read(texts) }
    }
}
