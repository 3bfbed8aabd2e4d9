// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport

/// `hybrid-relay serve`: runs the relay until a signal ends it.
struct ServeRelayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the relay.",
        discussion: """
            Serves /cable/new and /cable/connect by HTTP/1.1 and WebSocket. Each option can also be set by a variable, \
            HYBRID_ and its name in capitals, or by a line of the configuration file; see check-config.

            SIGTERM drains: the relay refuses new tunnels, and existing ones may finish within --drain-grace seconds. \
            A second SIGTERM, or SIGINT, closes every tunnel with code 1001. In both cases the exit status is 0. \
            SIGHUP reloads certificate, tokens and limits.
            """
    )

    @OptionGroup
    var options: RelayFlags

    func run() async throws {
        try await RelayService(options).run()
    }
}
