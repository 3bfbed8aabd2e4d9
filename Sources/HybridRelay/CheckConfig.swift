// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport

/// `hybrid-relay check-config`: what `serve` with the same flags would run with, and where each value comes from.
struct CheckConfig: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print every setting with its value and where it comes from.",
        discussion: """
            Reads what serve would read and ends with the same errors, but does not listen, and does not mind that \
            only a service manager could say where.
            """
    )

    @OptionGroup
    var options: RelayOptions

    @Flag(help: "Print one JSON array.")
    var json = false

    func run() throws {
        let configuration = try options.resolved()
        let files = try RelayFiles(configuration)
        _ = try files.transport()
        _ = try files.newTokens()
        _ = try RelayPlan.listeners(configuration, files)
        _ = try RelayPlan.node(configuration)
        _ = try RelayPlan.adminAddress(configuration)
        // Each row of the table has its newline.
        try StandardOutput.tell(json ? configuration.json : String(configuration.table.dropLast()))
    }
}
