// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport

/// `hybrid-relay serve`: runs the relay until a signal ends it.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the relay.",
        discussion: """
            Serves /cable/new and /cable/connect by HTTP/1.1 and WebSocket. Each option is also a variable, \
            HYBRID_ and its name in capitals, and a line of the configuration file; see check-config.

            SIGTERM drains: no new tunnels, those there are may finish for --drain-grace seconds. A second SIGTERM, \
            and SIGINT, close every tunnel with code 1001. Both end the relay with status 0. SIGHUP reads \
            certificate, tokens and limits again.
            """
    )

    @OptionGroup
    var options: RelayOptions

    func run() async throws {
        try await RelayService(options).run()
    }
}
