// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
package import HybridProgram

/// The effective settings of a program, each with the source of its value.
package struct Configuration: Sendable {
    /// One setting.
    package struct Entry: Hashable, Sendable {
        /// The setting.
        package let declaration: SettingDeclaration
        /// The effective texts, or `nil` if the setting has no value.
        package let texts: [String]?
        /// The source of the texts.
        package let source: ConfigurationSource
    }

    /// Every setting, in the order of their declaration.
    package let entries: [Entry]

    /// Returns the value of a setting.
    package func value<Value>(_ setting: Setting<Value>) throws(CommandFailure) -> Value {
        try entry(setting).read(with: setting.read)
    }

    /// Returns the source of a setting's value.
    package func source<Value>(of setting: Setting<Value>) -> ConfigurationSource { entry(setting).source }

    /// Returns the failure for a value that is well-formed but can't be used, such as a file that does not exist.
    ///
    /// - Parameters:
    ///   - setting: The setting; the sentence begins with its name and source.
    ///   - reason: The rest of the sentence, such as `there is no such file`.
    package func failure<Value>(_ setting: Setting<Value>, _ reason: String) -> CommandFailure {
        entry(setting).failure(reason)
    }

    /// Returns the failure for settings that exclude each other.
    ///
    /// Its status is `usage`, or `configuration` if a variable or a file is involved.
    ///
    /// - Parameter sentence: The cause and the remedy.
    package func contradiction(_ sentence: String) -> CommandFailure {
        let isElsewhere = entries.contains { $0.source != .defaultValue && $0.source.status == .configuration }
        return CommandFailure(sentence, status: isElsewhere ? .configuration : .usage)
    }

    private func entry<Value>(_ setting: Setting<Value>) -> Entry {
        entries.first { $0.declaration.name == setting.declaration.name }
            ?? Entry(setting.declaration)
    }
}

extension Configuration.Entry {
    /// Creates the entry of a setting that no source sets.
    init(_ declaration: SettingDeclaration) {
        self.init(declaration: declaration, texts: declaration.defaultTexts, source: .defaultValue)
    }

    /// Parses the texts.
    ///
    /// - Throws: ``CommandFailure`` with the setting's source and the error in its texts.
    @discardableResult
    func read<Value>(with read: ([String]) throws(SettingParseError) -> Value) throws(CommandFailure) -> Value {
        let texts = texts ?? []
        guard declaration.isList || texts.count <= 1 else { throw failure("it is given more than once") }
        do throws(SettingParseError) {
            return try read(texts)
        } catch {
            if error.text.isEmpty { throw failure("it is empty; leave it out, or give \(error.expected)") }
            throw failure("\(quoted(error.text)) is not \(error.expected)")
        }
    }

    func failure(_ reason: String) -> CommandFailure {
        let place = source == .defaultValue ? "--\(declaration.name) (default)" : "\(source)"
        return CommandFailure("\(place): \(reason)", status: source.status)
    }

    /// Returns the beginning of a rejected text, in quotation marks and safe for a terminal.
    private func quoted(_ text: String) -> String {
        let scalars = text.unicodeScalars
        let start = StandardError.oneLine(String(String.UnicodeScalarView(scalars.prefix(60))))
        return "\"\(start)\(scalars.count > 60 ? "…" : "")\""
    }
}
