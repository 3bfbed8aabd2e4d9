// SPDX-License-Identifier: Apache-2.0

private import Glibc
internal import HybridPrimitives
package import HybridProgram

/// The source of a setting's value.
package enum ConfigurationSource: Hashable, Sendable, CustomStringConvertible {
    /// A flag of the command line, such as `--idle-timeout`.
    case flag(String)
    /// An environment variable, by its name.
    case variable(String)
    /// A line of a configuration file, and the name on it.
    case file(String, line: Int, name: String)
    /// The default.
    case defaultValue

    /// The source as `check-config` shows it.
    package var description: String {
        switch self {
        case .flag(let flag): flag
        case .variable(let name): "\(name) in the environment"
        case .file(let path, let line, let name): "\(name) in \(path) line \(line)"
        case .defaultValue: "default"
        }
    }

    /// The exit status for an invalid value: `usage` for a flag, otherwise `configuration`.
    var status: ExitStatus {
        if case .flag = self { return .usage }
        return .configuration
    }
}

/// The settings given on the command line, by name; only flags that were given override other sources.
package struct GivenFlags: Hashable, Sendable {
    /// The texts of each setting, in the order given.
    package private(set) var texts: [String: [String]]

    /// Creates a set of flags from their names without dashes.
    package init(_ texts: [String: [String]] = [:]) {
        self.texts = texts
    }

    /// Records the text of a flag, if it was given.
    package mutating func set<Value>(_ setting: Setting<Value>, _ text: String?) {
        if let text { texts[setting.declaration.name] = [text] }
    }

    /// The texts of a flag by the setting's name; `nil` if it was not given.
    subscript(name: String) -> [String]? {
        get { texts[name] }
        set { texts[name] = newValue }
    }
}

/// The environment with which this process was started.
package enum ProcessEnvironment {
    /// All variables by name; of duplicates, the first counts, as with getenv(3).
    package static var variables: [String: String] {
        var variables: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            // Split by bytes, because a value may begin with a combining mark, which forms a character with the `=`.
            let bytes = UnsafeBufferPointer(start: text, count: strlen(text)).lazy.map(UInt8.init(bitPattern:))
            let parts = bytes.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map { String(decoding: $0, as: UTF8.self) }
            if parts.count == 2, variables[parts[0]] == nil { variables[parts[0]] = parts[1] }
            entry += 1
        }
        return variables
    }

    /// Returns the directory of these programs in an XDG base directory.
    ///
    /// - Parameters:
    ///   - variable: The variable that names the base directory.
    ///   - fallback: The base directory if that variable is unset, relative to the home directory.
    ///   - environment: The variables.
    /// - Returns: The directory, or `nil` if the environment sets neither that variable nor `HOME`.
    package static func directory(
        _ variable: String,
        belowHome fallback: String,
        _ environment: [String: String]
    ) -> String? {
        // The XDG Base Directory Specification says to ignore relative paths.
        if let directory = environment[variable], directory.hasPrefix("/") { return "\(directory)/hybrid" }
        guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
        return "\(home)/\(fallback)/hybrid"
    }
}

/// The content of a configuration file, with its path for messages.
package struct ConfigurationFile: Hashable, Sendable {
    /// The path.
    package let path: String
    /// The content.
    package let bytes: [UInt8]

    /// Creates a file from its content.
    package init(path: String, bytes: [UInt8]) {
        self.path = path
        self.bytes = bytes
    }

    /// Reads the file named on the command line, or else the default file if it exists.
    package static func read(
        named path: String?,
        orElse defaultPath: String
    ) throws(CommandFailure) -> ConfigurationFile? {
        do throws(FileReadError) {
            let bytes = try readWholeFile(path ?? defaultPath, atMost: EnvironmentFile.maximumSize)
            return ConfigurationFile(path: path ?? defaultPath, bytes: bytes)
        } catch {
            if path == nil, error == .missing { return nil }
            let status: ExitStatus = error == .tooLarge ? .configuration : .noInput
            throw CommandFailure("\(path ?? defaultPath): \(error.sentence)", status: status)
        }
    }

    /// Returns the default path of a user's file, in `$XDG_CONFIG_HOME/hybrid` or else in `~/.config/hybrid`.
    ///
    /// - Returns: The path, or `nil` if the environment sets neither `XDG_CONFIG_HOME` nor `HOME`.
    package static func defaultPath(_ name: String, _ environment: [String: String]) -> String? {
        ProcessEnvironment.directory("XDG_CONFIG_HOME", belowHome: ".config", environment).map { "\($0)/\(name)" }
    }
}
