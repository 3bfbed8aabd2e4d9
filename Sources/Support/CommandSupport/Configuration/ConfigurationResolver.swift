// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
package import HybridProgram

/// A resolver that determines the effective value of each setting of a program.
///
/// The precedence is flag, environment variable, configuration file, default. The resolver reads nothing itself:
/// command line, environment and file are passed in. An unknown name is an error in every source, because otherwise a
/// misspelled limit would have no effect.
package struct ConfigurationResolver: Sendable {
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
    package func resolve(
        flags: GivenFlags = GivenFlags(),
        environment: [String: String] = [:],
        file: ConfigurationFile? = nil
    ) throws(CommandFailure) -> Configuration {
        // The last assignment of a name counts.
        let assignments = try lines(of: file) + variables(in: environment)
        try checkNames(assignments, flags)
        var entries: [Configuration.Entry] = []
        for setting in settings {
            let entry = entry(setting.declaration, assignments, flags)
            try entry.read(with: setting.check)
            entries.append(entry)
        }
        return Configuration(entries: entries)
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

    private func checkNames(_ assignments: [Assignment], _ flags: GivenFlags) throws(CommandFailure) {
        let variables = settings.map(\.declaration.variable)
        let prefix = SettingDeclaration.variablePrefix
        for (name, _, source) in assignments where !variables.contains(name) {
            guard name.hasPrefix(prefix) else {
                throw CommandFailure("\(source) does not begin with \(prefix)", status: .configuration)
            }
            throw unknown(name, known: variables, source)
        }
        let known = settings.map { "--\($0.declaration.name)" }
        for flag in flags.texts.keys.sorted().map({ "--\($0)" }) where !known.contains(flag) {
            throw unknown(flag, known: known, .flag(flag))
        }
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
