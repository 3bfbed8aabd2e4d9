// SPDX-License-Identifier: Apache-2.0

package import ArgumentParser

// A flag is named by its property, which has the name of the setting; all else comes from the setting. The types of the
// properties are texts, so that flags, variables and the file are parsed alike.

extension Option where Value == String? {
    /// Creates the flag of a setting.
    package init<Setted>(_ setting: Setting<Setted>) { self.init(help: setting.declaration.valueHelp) }
}

extension Option where Value == [String] {
    /// Creates the repeated flag of a setting.
    package init<Setted>(wrappedValue: [String], _ setting: Setting<Setted>) {
        self.init(wrappedValue: wrappedValue, help: setting.declaration.valueHelp)
    }
}

extension Flag where Value == Bool {
    /// Creates the flag of a setting that is off by default, which needs no mention.
    package init(wrappedValue: Bool, _ setting: Setting<Bool>) {
        self.init(wrappedValue: wrappedValue, help: ArgumentHelp(setting.declaration.help))
    }
}

extension Flag where Value == Bool? {
    /// Creates the flag of a setting, with its inversion: `--x` and `--no-x`.
    package init(_ setting: Setting<Bool>) {
        self.init(inversion: .prefixedNo, help: ArgumentHelp(setting.declaration.helpWithDefault))
    }
}

extension SettingDeclaration {
    fileprivate var helpWithDefault: String {
        help + (defaultTexts.map { " (default: \($0.joined(separator: ", ")))" } ?? "")
    }

    /// The help of a flag with a value.
    fileprivate var valueHelp: ArgumentHelp { ArgumentHelp(helpWithDefault, valueName: placeholder) }
}

extension GivenFlags {
    /// Collects the flags of settings that were given, also those of option groups.
    ///
    /// - Parameters:
    ///   - arguments: A parsed command or its options.
    ///   - resolver: The resolver of the settings; other flags are left out.
    package init(in arguments: some ParsableArguments, of resolver: ConfigurationResolver) {
        self.init()
        collect(arguments) { label in resolver.name(ofProperty: label) }
    }

    private mutating func collect(_ arguments: Any, _ name: (String) -> String?) {
        for (label, value) in Mirror(reflecting: arguments).children {
            if let group = value as? any ArgumentGroup { collect(group.arguments, name) }
            // The stored property of a wrapper has a leading underscore.
            guard let label = label?.dropFirst(), let name = name(String(label)) else { continue }
            switch value {
            case let option as Option<String?>: self[name] = option.wrappedValue.map { [$0] }
            case let option as Option<[String]>:
                self[name] = option.wrappedValue.isEmpty ? nil : option.wrappedValue
            case let flag as Flag<Bool>: self[name] = flag.wrappedValue ? ["yes"] : nil
            case let flag as Flag<Bool?>: self[name] = flag.wrappedValue.map { [$0 ? "yes" : "no"] }
            default: continue
            }
        }
    }
}

/// An option group of any type.
private protocol ArgumentGroup {
    var arguments: Any { get }
}

extension OptionGroup: ArgumentGroup {
    fileprivate var arguments: Any { wrappedValue }
}
