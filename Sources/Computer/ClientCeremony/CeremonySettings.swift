// SPDX-License-Identifier: Apache-2.0

package import ArgumentParser
package import HybridCommandSupport
package import HybridProgram

/// The settings that all commands with ceremonies share.
package enum CeremonySettings {
    package static let cacert = Setting(
        "cacert",
        .path("file"),
        help: "Trust these certificates (PEM) instead of the system's."
    )
    package static let bleChannel = Setting(
        "ble-channel",
        .boolean,
        default: "no",
        help: "Also offer a connection over Bluetooth alone; some older phones reject such a code."
    )

    /// Returns the effective settings.
    ///
    /// In descending order of precedence: flags, environment variables, the file, defaults.
    ///
    /// - Parameters:
    ///   - resolver: The settings of the program.
    ///   - arguments: A parsed command or its options; `nil` for no flags.
    ///   - name: The name of the file in the user's configuration folder.
    /// - Throws: ``CommandFailure`` if a setting is unusable.
    package static func resolve(
        _ resolver: ConfigurationResolver,
        _ arguments: (any ParsableArguments)?,
        file name: String
    ) throws(CommandFailure) -> Configuration {
        let settings = try inspect(resolver, arguments, file: name).checked()
        try settings.checkReadable(cacert)
        return settings
    }

    /// Returns the same settings with all errors in them.
    ///
    /// - Throws: ``CommandFailure`` if the file can't be read.
    package static func inspect(
        _ resolver: ConfigurationResolver,
        _ arguments: (any ParsableArguments)? = nil,
        file name: String
    ) throws(CommandFailure) -> InspectedConfiguration {
        let flags = arguments.map { GivenFlags(in: $0, of: resolver) } ?? GivenFlags()
        let environment = ProcessEnvironment.variables
        var file: ConfigurationFile?
        if let path = ConfigurationFile.defaultPath(name, environment) {
            file = try ConfigurationFile.read(named: nil, orElse: path)
        }
        return try resolver.inspect(flags: flags, environment: environment, file: file)
    }
}
