// SPDX-License-Identifier: Apache-2.0

package import ArgumentParser
private import Glibc
package import HybridPrimitives
package import HybridProgram

/// The flags of a program's settings for its command `check-config`; all flags are optional.
package protocol CheckedSettings: ParsableArguments {
    /// The discussion in the command's help.
    static var checkConfigDiscussion: String { get }

    /// The program's name, with which its lines on standard error begin.
    static var programName: String { get }

    /// Returns the settings from all sources.
    ///
    /// - Throws: ``CommandFailure`` if a source can't be read.
    func inspectedConfiguration() throws(CommandFailure) -> InspectedConfiguration

    /// Makes all further checks that the program makes when it starts.
    func check(_ configuration: Configuration) throws
}

/// The command `check-config` of all programs, which prints every setting with its value and source.
///
/// The settings appear even if they are wrong, so that their user sees the values to which an error refers.
package struct CheckConfig<Settings: CheckedSettings>: ParsableCommand {
    /// The command's name and help.
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "check-config",
            abstract: "Print every setting with its value and its source.",
            discussion: Settings.checkConfigDiscussion
        )
    }

    @OptionGroup private var settings: Settings

    @Flag(help: "Print one JSON array.")
    private var json = false

    /// Creates an empty command for the argument parser.
    package init() {}

    /// Prints the settings on standard output, then the errors on standard error.
    package func run() throws {
        let inspected = try settings.inspectedConfiguration()
        let configuration = inspected.configuration
        try StandardOutput.write(json ? configuration.json + "\n" : configuration.table)
        // The program would end with the first one, so that its status is the command's.
        for failure in inspected.failures.dropFirst().reversed() {
            StandardError.writeLine("\(Settings.programName): \(failure.sentence)")
        }
        try settings.check(try inspected.checked())
    }
}

extension Configuration {
    /// Checks that the file named by a setting is readable, unless a flag names it.
    ///
    /// A path from a variable or a file is not on the command line, so the failure names its source.
    package func checkReadable(_ setting: Setting<String?>) throws(CommandFailure) {
        if case .flag = source(of: setting) { return }
        guard let path = try value(setting), access(path, R_OK) != 0 else { return }
        throw failure(setting, "\(path) can't be read: \(String(cString: strerror(errno)))")
    }

    /// Checks the certificate file named by a setting, so that an error is found before a ceremony begins.
    ///
    /// - Parameters:
    ///   - setting: The setting with the path.
    ///   - check: A function that throws if the file is unusable.
    package func checkCertificates<Failure: ExplainedFailure>(
        _ setting: Setting<String?>,
        with check: (String) throws(Failure) -> Void
    ) throws(CommandFailure) {
        guard let path = try value(setting) else { return }
        do throws(Failure) {
            try check(path)
        } catch {
            if case .flag = source(of: setting) { throw CommandFailure(error) }
            try checkReadable(setting)
            // A remedy that names a flag does not fit here.
            let remedy = error.remedy.flatMap { $0.contains("--") ? nil : $0 } ?? "use a different file"
            throw failure(setting, "\(error.message); \(remedy)")
        }
    }

    /// The settings as a table for users: name, value and source on each line.
    package var table: String {
        var rows = [["SETTING", "VALUE", "SOURCE"]]
        for entry in entries {
            let source = entry.texts == nil ? "not set" : "\(entry.source)"
            rows.append([entry.declaration.name, entry.shownValue, source].map(StandardError.oneLine))
        }
        let widths = (0..<2).map { column in
            // One long value must not push every source off the screen.
            min(rows.map { $0[column].unicodeScalars.count }.max() ?? 0, 40)
        }
        return rows.map { row in
            zip(row, widths).map { text, width in
                text + String(repeating: " ", count: max(width - text.unicodeScalars.count, 0) + 2)
            }.joined() + (row.last ?? "") + "\n"
        }.joined()
    }

    /// The settings as a JSON array of objects with `name`, `value` (string, array, or null) and `source`.
    package var json: String { JSONText.array(entries.map(\.json)).description }
}

extension Configuration.Entry {
    fileprivate var shownValue: String {
        guard let texts else { return "-" }
        let text = texts.joined(separator: ", ")
        return text.isEmpty ? "(empty)" : text
    }

    fileprivate var json: JSONText {
        let value = texts.map { declaration.isList ? JSONText.array($0.map(JSONText.string)) : .string($0.last ?? "") }
        var members: [(String, JSONText)] = [("name", .string(declaration.name)), ("value", value ?? .null)]
        switch source {
        case .flag(let flag): members += [("source", .string("flag")), ("flag", .string(flag))]
        case .variable(let name): members += [("source", .string("variable")), ("variable", .string(name))]
        case .file(let path, let line, _):
            members += [("source", .string("file")), ("file", .string(path)), ("line", .number(line))]
        case .defaultValue: members.append(("source", .string("default")))
        }
        return .object(members)
    }
}
