// SPDX-License-Identifier: Apache-2.0

/// One thing that can be configured, and how its text becomes a value.
///
/// A setting has one name in three forms: `idle-timeout` is the flag `--idle-timeout`, the variable
/// `HYBRID_IDLE_TIMEOUT` and the key `HYBRID_IDLE_TIMEOUT` of the configuration file.
public struct Setting<Value: Sendable>: Sendable {
    /// What there is to say about it without knowing its type.
    public let declaration: SettingDeclaration
    /// The value for all texts of the effective source, or for none.
    let read: @Sendable ([String]) throws(WrongText) -> Value

    /// A setting that always has a value.
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
        read = { texts throws(WrongText) in try parser.value(of: texts.last ?? defaultText) }
    }

    /// A setting that may have no value.
    public init<Element>(_ name: String, _ parser: SettingParser<Element>, secret: Bool = false, help: String)
    where Value == Element? {
        declaration = SettingDeclaration(name: name, defaultTexts: nil, isList: false, isSecret: secret, help: help)
        read = { texts throws(WrongText) in
            guard let text = texts.last else { return nil }
            return try parser.value(of: text)
        }
    }

    /// A setting with any number of values: a repeated flag, or a variable with commas or spaces between them.
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
        read = { texts throws(WrongText) in
            var values: [Element] = []
            for text in texts { values.append(try parser.value(of: text)) }
            return values
        }
    }

    /// What it is for, with its default; for the help of a flag.
    public var help: String {
        guard let texts = declaration.defaultTexts, !declaration.isSecret else { return declaration.help }
        return "\(declaration.help) (default: \(texts.joined(separator: ", ")))"
    }
}

/// A text that is not what a setting expects.
struct WrongText: Error {
    let text: String
    let expected: String
}

/// A setting without the type of its value.
public struct SettingDeclaration: Hashable, Sendable {
    /// The name as a flag has it, without the dashes in front.
    public let name: String
    /// What holds where nothing is given, or `nil` if then there is no value.
    public let defaultTexts: [String]?
    /// Whether it may have several values.
    public let isList: Bool
    /// Whether its value must not be shown.
    public let isSecret: Bool
    /// What it is for, in one sentence.
    public let help: String

    /// The name as a variable and in a file: `HYBRID_IDLE_TIMEOUT`.
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

/// A setting whose type has been put aside, so that settings of all types can stand in one list.
public struct AnySetting: Sendable {
    /// What there is to say about it.
    public let declaration: SettingDeclaration
    let check: @Sendable ([String]) throws(WrongText) -> Void

    /// Puts the type of a setting aside.
    public init<Value>(_ setting: Setting<Value>) {
        declaration = setting.declaration
        let read = setting.read
        check = { texts throws(WrongText) in _ = try read(texts) }
    }
}
