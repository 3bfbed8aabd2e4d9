// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The settings of a program as they hold now, each with the source of its value.
public struct Configuration: Sendable {
    /// One setting.
    public struct Entry: Hashable, Sendable {
        /// The setting.
        public let declaration: SettingDeclaration
        /// The texts that hold, or `nil` where there is no value.
        public let texts: [String]?
        /// Where they come from.
        public let source: ConfigurationSource

        init(_ declaration: SettingDeclaration, _ texts: [String]?, _ source: ConfigurationSource) {
            self.declaration = declaration
            self.texts = texts
            self.source = source
        }
    }

    /// Every setting, in the order of their declaration.
    public let entries: [Entry]

    /// The value of a setting.
    public func value<Value>(_ setting: Setting<Value>) throws(CommandFailure) -> Value {
        try entry(setting).read(with: setting.read)
    }

    /// Where the value of a setting comes from.
    public func source<Value>(of setting: Setting<Value>) -> ConfigurationSource { entry(setting).source }

    /// Whether anybody gave a value for the setting.
    public func isGiven<Value>(_ setting: Setting<Value>) -> Bool { source(of: setting) != .defaultValue }

    /// The failure of a value that reads well and still will not do, such as a file that is not there.
    ///
    /// - Parameter reason: Stands after the setting's name and source: `there is no such file`.
    public func failure<Value>(_ setting: Setting<Value>, _ reason: String) -> CommandFailure {
        entry(setting).failure(reason)
    }

    /// The failure of settings that make no sense together: of the command line, unless something comes from elsewhere.
    ///
    /// - Parameter sentence: What is wrong, and what to do.
    public func contradiction(_ sentence: String) -> CommandFailure {
        let isElsewhere = entries.contains { $0.source != .defaultValue && $0.source.status == .configuration }
        return CommandFailure(sentence, status: isElsewhere ? .configuration : .usage)
    }

    private func entry<Value>(_ setting: Setting<Value>) -> Entry {
        entries.first { $0.declaration.name == setting.declaration.name }
            ?? Entry(setting.declaration, setting.declaration.defaultTexts, .defaultValue)
    }
}

extension Configuration.Entry {
    /// Reads the texts, and tells in one sentence what is wrong with them.
    @discardableResult
    func read<Value>(with read: ([String]) throws(WrongText) -> Value) throws(CommandFailure) -> Value {
        let texts = texts ?? []
        guard declaration.isList || texts.count <= 1 else { throw failure("it is given more than once") }
        do throws(WrongText) {
            return try read(texts)
        } catch {
            if error.text.isEmpty { throw failure("it is empty; leave it out, or give \(error.expected)") }
            throw failure("\(shown(error.text)) is not \(error.expected)")
        }
    }

    func failure(_ reason: String) -> CommandFailure {
        let place: String
        switch source {
        case .defaultValue: place = "--\(declaration.name) (default)"
        default: place = "\(source)"
        }
        return CommandFailure("\(place): \(reason)", status: source.status)
    }

    /// As much of a wrong text as helps, and nothing of a secret.
    private func shown(_ text: String) -> String {
        if declaration.isSecret { return "the value" }
        let scalars = text.unicodeScalars
        let start = StandardError.oneLine(String(String.UnicodeScalarView(scalars.prefix(60))))
        return "\"\(start)\(scalars.count > 60 ? "…" : "")\""
    }
}
