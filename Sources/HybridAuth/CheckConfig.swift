// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCeremonySupport
internal import HybridCommandSupport
internal import HybridPrimitives

/// `hybrid-auth check-config`: what holds where no option says otherwise, and where each value comes from.
struct CheckConfig: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Print every setting with its value and where it comes from.",
        discussion: """
            Reads variables and auth.env as scan does, and ends with the same errors. A setting without a value is no \
            error here: setup writes the relay down.
            """
    )

    @Flag(help: "Print one JSON array.")
    var json = false

    func run() throws {
        let settings = try AuthSettings.resolve(GivenFlags())
        try settings.checkCertificates(AuthSettings.cacert)
        if let domain = try AuthSettings.domain(settings),
            let file = try AuthSettings.tokenFile(for: domain, settings)
        {
            _ = try AuthSettings.token(file)
        }
        guard StandardOutput.write(json ? settings.json + "\n" : settings.table) else {
            throw CommandFailure("standard output can't be written", status: .ioError)
        }
    }
}
