// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
package import HybridProgram

/// A resolver that determines the effective value of each setting of a program.
///
/// The precedence is flag, environment variable, configuration file, the system's configuration file, default. The
/// resolver reads nothing itself: command line, environment and files are passed in. An unknown name is an error in every
/// source, because otherwise a misspelled limit would have no effect.
package struct ConfigurationResolver: Sendable {
    /// The variables of all programs of a user, which ignore those of each other: one environment serves them all.
    package static let userVariables = [
        "HYBRID_LAB_*", "HYBRID_TEST_*", "HYBRID_WARNINGS_AS_ERRORS", "HYBRID_BIN", "HYBRID_ASK", "HYBRID_ASK_TO_LINK",
        "HYBRID_BLE_CHANNEL", "HYBRID_CACERT", "HYBRID_FINGER_AFTER_SUSPEND", "HYBRID_LOCAL", "HYBRID_LOCAL_SERVICES",
        "HYBRID_PINENTRY", "HYBRID_PROMPT", "HYBRID_PUSH", "HYBRID_PUSH_DISTRIBUTOR", "HYBRID_TPM",
        "HYBRID_TUNNEL_DOMAIN", "HYBRID_TUNNEL_TOKEN_FILE", "HYBRID_UPSTREAM", "HYBRID_VAULT",
    ]

    private let settings: [any AnySetting]
    private let ignoredVariables: [String]

    /// A text from the file or the environment.
    private typealias Assignment = (name: String, text: String, source: ConfigurationSource)

    /// Creates a resolver.
    ///
    /// - Parameters:
    ///   - settings: The settings, in the order in which `check-config` shows them.
    ///   - ignoredVariables: `HYBRID_…` variables that belong to other programs; `HYBRID_TEST_*` matches a prefix.
    package init(_ settings: [any AnySetting], ignoredVariables: [String] = []) {
        self.settings = settings
        self.ignoredVariables = ignoredVariables
    }

    /// Returns the effective value of each setting, after parsing all of them.
    ///
    /// - Throws: The first error of ``inspect(flags:environment:file:systemFile:)``.
    package func resolve(
        flags: GivenFlags = GivenFlags(),
        environment: [String: String] = [:],
        file: ConfigurationFile? = nil,
        systemFile: ConfigurationFile? = nil
    ) throws(CommandFailure) -> Configuration {
        try inspect(flags: flags, environment: environment, file: file, systemFile: systemFile).checked()
    }

    /// Returns the effective texts of all settings, and all errors in names and texts.
    ///
    /// - Throws: ``CommandFailure`` if the file can't be parsed, because the effective texts are then unknown.
    package func inspect(
        flags: GivenFlags = GivenFlags(),
        environment: [String: String] = [:],
        file: ConfigurationFile? = nil,
        systemFile: ConfigurationFile? = nil
    ) throws(CommandFailure) -> InspectedConfiguration {
        // The last assignment of a name counts.
        let assignments = try lines(of: systemFile) + lines(of: file) + variables(in: environment)
        var failures = unknownNames(assignments, flags)
        var entries: [Configuration.Entry] = []
        for setting in settings {
            let entry = entry(setting.declaration, assignments, flags)
            do throws(CommandFailure) {
                try entry.read(with: setting.check)
            } catch {
                failures.append(error)
            }
            entries.append(entry)
        }
        return InspectedConfiguration(configuration: Configuration(entries: entries), failures: failures)
    }

    /// Returns the name of the setting whose flag a property holds: `max-early` for `maxEarly`.
    func name(ofProperty property: String) -> String? {
        settings.map(\.declaration.name).first { $0.replacing("-", with: "") == property.lowercased() }
    }

    private func lines(of file: ConfigurationFile?) throws(CommandFailure) -> [Assignment] {
        guard let file else { return [] }
        return try EnvironmentFile.assignments(file.bytes, path: file.path).map {
            ($0.name, $0.value, .file(file.path, line: $0.line, name: $0.name))
        }
    }

    private func variables(in environment: [String: String]) -> [Assignment] {
        environment.sorted { $0.key < $1.key }.compactMap { name, text in
            let isIgnored = ignoredVariables.contains {
                $0.hasSuffix("*") ? name.hasPrefix($0.dropLast()) : name == $0
            }
            guard name.hasPrefix(SettingDeclaration.variablePrefix) else { return nil }
            // A setting whose name is ignored by mistake still counts.
            return isIgnored && !settings.contains { $0.declaration.variable == name }
                ? nil : (name, text, .variable(name))
        }
    }

    private func unknownNames(_ assignments: [Assignment], _ flags: GivenFlags) -> [CommandFailure] {
        let variables = settings.map(\.declaration.variable)
        let prefix = SettingDeclaration.variablePrefix
        let assigned = assignments.filter { !variables.contains($0.name) }
            .map { name, _, source in
                guard name.hasPrefix(prefix) else {
                    return CommandFailure("\(source) does not begin with \(prefix)", status: .configuration)
                }
                return unknown(name, known: variables, source)
            }
        let known = settings.map { "--\($0.declaration.name)" }
        let given = flags.texts.keys.sorted().map { "--\($0)" }.filter { !known.contains($0) }
        return assigned + given.map { unknown($0, known: known, .flag($0)) }
    }

    /// Returns the failure for an unknown name, which suggests a known name that differs by at most two letters.
    private func unknown(_ name: String, known: [String], _ source: ConfigurationSource) -> CommandFailure {
        let close = known.map { ($0, editDistance(name, $0)) }.filter { $0.1 <= 2 }
        let suggestion = close.min { $0.1 < $1.1 }.map { "; \($0.0) is one" } ?? ""
        return CommandFailure("\(source) is not a setting\(suggestion)", status: source.status)
    }

    private func entry(
        _ declaration: SettingDeclaration,
        _ assignments: [Assignment],
        _ flags: GivenFlags
    ) -> Configuration.Entry {
        if let texts = flags.texts[declaration.name] {
            return Configuration.Entry(declaration: declaration, texts: texts, source: .flag("--\(declaration.name)"))
        }
        guard let (_, text, source) = assignments.last(where: { $0.name == declaration.variable }) else {
            return Configuration.Entry(declaration)
        }
        let elements = text.split { $0 == "," || $0.isWhitespace }.map(String.init)
        return Configuration.Entry(
            declaration: declaration,
            texts: declaration.isList ? elements : [text],
            source: source
        )
    }
}

/// The effective texts of all settings, of which some may be wrong.
package struct InspectedConfiguration: Sendable {
    /// The effective texts.
    package let configuration: Configuration
    /// The errors in names and texts.
    package let failures: [CommandFailure]

    /// Returns the configuration.
    ///
    /// - Throws: The first error.
    package func checked() throws(CommandFailure) -> Configuration {
        if let first = failures.first { throw first }
        return configuration
    }
}

/// Returns the Levenshtein distance of two names: the least number of inserted, removed or changed letters.
private func editDistance(_ left: String, _ right: String) -> Int {
    let (left, right) = (Array(left.utf8), Array(right.utf8))
    // Names are shorter, and the time is proportional to the product of the lengths.
    guard left.count <= 100, right.count <= 100 else { return .max }
    var row = Array(0...right.count)
    for (index, letter) in left.enumerated() {
        var diagonal = row[0]
        row[0] = index + 1
        for (column, other) in right.enumerated() {
            let changed = diagonal + (letter == other ? 0 : 1)
            diagonal = row[column + 1]
            row[column + 1] = min(changed, row[column] + 1, diagonal + 1)
        }
    }
    return row[right.count]
}
