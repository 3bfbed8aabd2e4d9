// SPDX-License-Identifier: Apache-2.0

/// One setting and the parser of its text.
///
/// A setting has one name in three forms: `idle-timeout` is the flag `--idle-timeout`, the variable
/// `HYBRID_IDLE_TIMEOUT` and the key `HYBRID_IDLE_TIMEOUT` of the configuration file.
public struct Setting<Value: Sendable>: Sendable {
    /// The setting without its type.
    public let declaration: SettingDeclaration
    /// Parses all texts of the effective source, or none.
    let read: @Sendable ([String]) throws(SettingParseError) -> Value

    /// Creates a setting that always has a value.
    public init(
        _ name: String,
        _ parser: SettingParser<Value>,
        default defaultText: String,
        secret: Bool = false,
        help: String
    ) {
        declaration = SettingDeclaration(
            name: name,
            defaultTexts: [defaultText],
            isList: false,
            isSecret: secret,
            help: help
        )
        read = { texts throws(SettingParseError) in try parser.value(of: texts.last ?? defaultText) }
    }

    /// Creates a setting that may have no value.
    public init<Element>(_ name: String, _ parser: SettingParser<Element>, secret: Bool = false, help: String)
    where Value == Element? {
        declaration = SettingDeclaration(name: name, defaultTexts: nil, isList: false, isSecret: secret, help: help)
        read = { texts throws(SettingParseError) in
            guard let text = texts.last else { return nil }
            return try parser.value(of: text)
        }
    }

    /// Creates a setting with any number of values: a repeated flag, or a variable with commas or spaces between them.
    public init<Element>(
        list name: String,
        _ parser: SettingParser<Element>,
        default defaultTexts: [String] = [],
        secret: Bool = false,
        help: String
    ) where Value == [Element] {
        declaration = SettingDeclaration(
            name: name,
            defaultTexts: defaultTexts.isEmpty ? nil : defaultTexts,
            isList: true,
            isSecret: secret,
            help: help
        )
        read = { texts throws(SettingParseError) in
            var values: [Element] = []
            for text in texts { values.append(try parser.value(of: text)) }
            return values
        }
    }

    /// The help of the flag, with the default.
    public var help: String {
        guard let texts = declaration.defaultTexts, !declaration.isSecret else { return declaration.help }
        return "\(declaration.help) (default: \(texts.joined(separator: ", ")))"
    }
}

/// The error for a text that a setting does not accept.
struct SettingParseError: Error {
    let text: String
    let expected: String
}

/// A setting without the type of its value.
public struct SettingDeclaration: Hashable, Sendable {
    /// The name as a flag has it, without the dashes in front.
    public let name: String
    /// The default texts, or `nil` without a default.
    public let defaultTexts: [String]?
    /// True if the setting may have several values.
    public let isList: Bool
    /// True if the value must not be shown.
    public let isSecret: Bool
    /// The purpose, in one sentence.
    public let help: String

    /// Returns the name as a variable and as a key of the file: `HYBRID_IDLE_TIMEOUT`.
    public func variable(prefix: String) -> String {
        let letters = name.utf8.map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "_")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - 0x20
            default: byte
            }
        }
        return prefix + String(decoding: letters, as: UTF8.self)
    }
}

/// A setting with its type erased, so that settings of all types fit in one list.
public struct AnySetting: Sendable {
    /// The setting.
    public let declaration: SettingDeclaration
    let check: @Sendable ([String]) throws(SettingParseError) -> Void

    /// Creates a type-erased setting.
    public init<Value>(_ setting: Setting<Value>) {
        declaration = setting.declaration
        let read = setting.read
        check = { texts throws(SettingParseError) in _ = try read(texts) }
    }
}
