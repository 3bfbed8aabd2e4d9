// SPDX-License-Identifier: Apache-2.0

public import HybridPrimitives

/// Where a setting's value comes from.
public enum ConfigurationSource: Hashable, Sendable, CustomStringConvertible {
    /// The command line; `--idle-timeout`.
    case flag(String)
    /// A variable of the environment, by its name.
    case variable(String)
    /// A line of a configuration file, and the name that stands there.
    case file(String, line: Int, name: String)
    /// Nothing was given.
    case defaultValue

    /// The source as `check-config` shows it.
    public var description: String {
        switch self {
        case .flag(let flag): flag
        case .variable(let name): "\(name) in the environment"
        case .file(let path, let line, let name): "\(name) in \(path) line \(line)"
        case .defaultValue: "default"
        }
    }

    /// What somebody who gave a wrong value did wrong: the command line, or the configuration.
    var status: ExitStatus {
        if case .flag = self { return .usage }
        return .configuration
    }
}
