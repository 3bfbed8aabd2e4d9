// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCeremonySupport
internal import HybridCommandSupport
internal import HybridPrimitives

/// `hybrid-client check-config`: what holds where no option says otherwise, and where each value comes from.
struct CheckConfig: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Print every setting with its value and where it comes from.",
        discussion: """
            Reads variables and client.env as show-qr does, and ends with the same errors.
            """
    )

    @Flag(help: "Print one JSON array.")
    var json = false

    func run() throws {
        let settings = try ClientSettings.resolve(GivenFlags())
        try settings.checkCertificates(ClientSettings.cacert)
        guard StandardOutput.write(json ? settings.json + "\n" : settings.table) else {
            throw CommandFailure("standard output can't be written", status: .ioError)
        }
    }
}
