// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives

/// The settings of a program, and the rule by which sources overrule each other: a flag, then a variable of the
/// environment, then the configuration file, then the default.
///
/// Nothing is read here: command line, environment and file come in as values. A name that is no setting is an
/// error in every source, because a misspelt limit would otherwise be no limit.
public struct ConfigurationResolver: Sendable {
    private let settings: [AnySetting]
    private let prefix: String
    private let ignoredVariables: [String]

    /// A resolver for some settings.
    ///
    /// - Parameters:
    ///   - settings: In the order in which `check-config` shows them.
    ///   - prefix: What variables and keys of the file begin with; variables without it are not looked at.
    ///   - ignoredVariables: Variables with the prefix that are somebody else's; `HYBRID_TEST_*` is all that begin so.
    public init(_ settings: [AnySetting], prefix: String = "HYBRID_", ignoredVariables: [String] = []) {
        self.settings = settings
        self.prefix = prefix
        self.ignoredVariables = ignoredVariables
    }

    /// The value that holds for each setting, each of them checked.
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
        do throws(EnvironmentFile.Mistake) {
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
            throw CommandFailure(
                "\(source) is no setting\(suggestion(for: line.name, of: variables))",
                status: .configuration
            )
        }
        for name in environment.keys.sorted() where name.hasPrefix(prefix) {
            guard !variables.contains(name), !isIgnored(name) else { continue }
            let source = ConfigurationSource.variable(name)
            throw CommandFailure(
                "\(source) is no setting\(suggestion(for: name, of: variables))",
                status: .configuration
            )
        }
        let known = settings.map { "--\($0.declaration.name)" }
        for flag in flags.texts.keys.sorted().map({ "--\($0)" }) where !known.contains(flag) {
            throw CommandFailure("\(flag) is no setting\(suggestion(for: flag, of: known))", status: .usage)
        }
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

    /// The name that was probably meant: one that at most two letters set apart.
    private func suggestion(for name: String, of names: [String]) -> String {
        let close = names.map { ($0, distance(name, $0)) }.filter { $0.1 <= 2 }
        return close.min { $0.1 < $1.1 }.map { "; \($0.0) is one" } ?? ""
    }
}

/// How many letters must be put in, left out or changed to make one text of the other.
private func distance(_ left: String, _ right: String) -> Int {
    let (left, right) = (Array(left.utf8), Array(right.utf8))
    // Nothing is close to a name as long as that; and the work grows with the product of the lengths.
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
