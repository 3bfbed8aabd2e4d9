// SPDX-License-Identifier: Apache-2.0

/// What was given on the command line, by the names of settings.
///
/// A program's flags are all optional: one that was not given is not here, so that the next source has its say.
public struct GivenFlags: Hashable, Sendable {
    /// The texts of each setting, in the order in which they were given.
    public private(set) var texts: [String: [String]]

    /// Flags by their names, without dashes in front.
    public init(_ texts: [String: [String]] = [:]) {
        self.texts = texts
    }

    /// Notes the text of a flag, if it was given.
    public mutating func set<Value>(_ setting: Setting<Value>, _ text: String?) {
        if let text { texts[setting.declaration.name] = [text] }
    }

    /// Notes every text of a repeated flag, if it was given at all.
    public mutating func set<Value>(_ setting: Setting<Value>, _ texts: [String]) {
        if !texts.isEmpty { self.texts[setting.declaration.name] = texts }
    }

    /// Notes a flag without a value, if it was given.
    public mutating func set<Value>(_ setting: Setting<Value>, given: Bool) {
        if given { texts[setting.declaration.name] = ["yes"] }
    }

    /// Notes a flag that has a contrary (`--x`, `--no-x`), if one of them was given.
    public mutating func set<Value>(_ setting: Setting<Value>, _ choice: Bool?) {
        if let choice { texts[setting.declaration.name] = [choice ? "yes" : "no"] }
    }
}
