// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The settings of a program, and the precedence of their sources: flag, environment variable, configuration file,
/// default.
///
/// Reads nothing itself: command line, environment and file are passed in. An unknown name is an error in every source,
/// because otherwise a misspelled limit would be no limit.
public struct ConfigurationResolver: Sendable {
    private let settings: [AnySetting]
    private let prefix: String
    private let ignoredVariables: [String]

    /// Creates a resolver.
    ///
    /// - Parameters:
    ///   - settings: The settings, in the order in which `check-config` shows them.
    ///   - prefix: The prefix of variables and keys of the file; other variables are ignored.
    ///   - ignoredVariables: Variables with the prefix that belong to other programs; `HYBRID_TEST_*` matches a prefix.
    public init(_ settings: [AnySetting], prefix: String = "HYBRID_", ignoredVariables: [String] = []) {
        self.settings = settings
        self.prefix = prefix
        self.ignoredVariables = ignoredVariables
    }

    /// Returns the effective value of each setting, after parsing all of them.
    public func resolve(
        flags: GivenFlags = GivenFlags(),
        environment: [String: String] = [:],
        file: ConfigurationFile? = nil
    ) throws(CommandFailure) -> Configuration {
        let lines = try assignments(of: file)
        try checkNames(flags: flags, environment: environment, lines: lines, path: file?.path ?? "")
        var entries: [Configuration.Entry] = []
        for setting in settings {
            let entry = entry(setting.declaration, flags: flags, environment: environment, lines: lines, file: file)
            try entry.read(with: setting.check)
            entries.append(entry)
        }
        return Configuration(entries: entries)
    }

    private func assignments(of file: ConfigurationFile?) throws(CommandFailure) -> [EnvironmentFile.Assignment] {
        guard let file else { return [] }
        do throws(EnvironmentFile.ParseError) {
            return try EnvironmentFile(file.bytes).assignments
        } catch {
            throw CommandFailure("\(file.path) line \(error.line): \(error.reason)", status: .configuration)
        }
    }

    private func checkNames(
        flags: GivenFlags,
        environment: [String: String],
        lines: [EnvironmentFile.Assignment],
        path: String
    ) throws(CommandFailure) {
        let variables = settings.map { $0.declaration.variable(prefix: prefix) }
        for line in lines where !variables.contains(line.name) {
            let source = ConfigurationSource.file(path, line: line.line, name: line.name)
            guard line.name.hasPrefix(prefix) else {
                throw CommandFailure("\(source) does not begin with \(prefix)", status: .configuration)
            }
            throw unknown("\(source)", line.name, known: variables, source)
        }
        for name in environment.keys.sorted() where name.hasPrefix(prefix) {
            guard !variables.contains(name), !isIgnored(name) else { continue }
            let source = ConfigurationSource.variable(name)
            throw unknown("\(source)", name, known: variables, source)
        }
        let known = settings.map { "--\($0.declaration.name)" }
        for flag in flags.texts.keys.sorted().map({ "--\($0)" }) where !known.contains(flag) {
            throw unknown(flag, flag, known: known, .flag(flag))
        }
    }

    /// Returns the failure of an unknown name; suggests the known name that differs by at most two letters.
    private func unknown(
        _ place: String,
        _ name: String,
        known: [String],
        _ source: ConfigurationSource
    ) -> CommandFailure {
        let close = known.map { ($0, editDistance(name, $0)) }.filter { $0.1 <= 2 }
        let suggestion = close.min { $0.1 < $1.1 }.map { "; \($0.0) is one" } ?? ""
        return CommandFailure("\(place) is no setting\(suggestion)", status: source.status)
    }

    private func isIgnored(_ name: String) -> Bool {
        ignoredVariables.contains { $0.hasSuffix("*") ? name.hasPrefix($0.dropLast()) : name == $0 }
    }

    private func entry(
        _ declaration: SettingDeclaration,
        flags: GivenFlags,
        environment: [String: String],
        lines: [EnvironmentFile.Assignment],
        file: ConfigurationFile?
    ) -> Configuration.Entry {
        let name = declaration.variable(prefix: prefix)
        if let texts = flags.texts[declaration.name] {
            return Configuration.Entry(declaration, texts, .flag("--\(declaration.name)"))
        }
        if let text = environment[name] {
            return Configuration.Entry(declaration, elements(of: text, declaration), .variable(name))
        }
        if let file, let line = lines.first(where: { $0.name == name }) {
            let source = ConfigurationSource.file(file.path, line: line.line, name: name)
            return Configuration.Entry(declaration, elements(of: line.value, declaration), source)
        }
        return Configuration.Entry(declaration, declaration.defaultTexts, .defaultValue)
    }

    private func elements(of text: String, _ declaration: SettingDeclaration) -> [String] {
        guard declaration.isList else { return [text] }
        return text.split { $0 == "," || $0.isWhitespace }.map(String.init)
    }
}

/// Returns the Levenshtein distance of two names: the least number of inserted, removed or changed letters.
private func editDistance(_ left: String, _ right: String) -> Int {
    let (left, right) = (Array(left.utf8), Array(right.utf8))
    // No name is that long, and the work grows with the product of the lengths.
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
