// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import Glibc
internal import HybridShinyServer
internal import HybridWebAuthn

/// The program `hybrid-shiny`, a demo site for passkeys.
@main
struct HybridShiny: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hybrid-shiny",
        abstract: "A demo site for passkeys, for this computer.",
        discussion: """
            Accounts are kept in memory until the program ends. Without options, the site is at http://localhost:8080. \
            Sites with another origin need a proxy that terminates TLS, such as that of hybrid-lab shiny.
            """
    )

    @Option(help: ArgumentHelp("The port on 127.0.0.1; 0 selects a free one.", valueName: "port"))
    var port = 8080

    @Option(help: ArgumentHelp("The origin of the site; the default is http://localhost:PORT.", valueName: "origin"))
    var origin: String?

    @Option(help: ArgumentHelp("Another origin that uses the same passkeys; repeatable.", valueName: "origin"))
    var relatedOrigin: [String] = []

    @Flag(help: "End when the standard input ends, for programs that start this one.")
    var untilInputEnds = false

    func validate() throws {
        guard (0...65535).contains(port) else { throw ValidationError("--port takes 0 to 65535.") }
        guard port != 0 || origin != nil else { throw ValidationError("--port 0 needs --origin.") }
        _ = try site()
    }

    func run() async throws {
        // A write without a reader is an error, not the end.
        signal(SIGPIPE, SIG_IGN)
        let (site, port) = (try site(), port)
        if untilInputEnds { Self.exitWhenInputEnds() }
        do {
            try await ShinyServer(site, port: port).run { port in
                // Another program may wait for this line.
                let line = "hybrid-shiny: \(site.origin) on 127.0.0.1:\(port)\n"
                try? FileHandle.standardOutput.write(contentsOf: Data(line.utf8))
            }
        } catch is CancellationError {
            return
        } catch {
            let line = "hybrid-shiny: cannot listen on 127.0.0.1:\(port): \(error); choose another --port\n"
            try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
            throw ExitCode(EX_UNAVAILABLE)
        }
    }

    /// Starts a thread that ends this program; there is nothing to save.
    private static func exitWhenInputEnds() {
        Thread.detachNewThread {
            var byte: UInt8 = 0
            while read(STDIN_FILENO, &byte, 1) > 0 {}
            Glibc.exit(EX_OK)
        }
    }

    private func site() throws -> ShinyConfiguration {
        func parsed(_ text: String) throws -> Origin {
            do throws(OriginError) {
                return try Origin(text)
            } catch {
                throw ValidationError("\(text): \(error.sentence)")
            }
        }
        let own = try parsed(origin ?? "http://localhost:\(port)")
        let related = try relatedOrigin.map(parsed)
        do {
            return try ShinyConfiguration(origin: own, relatedOrigins: related)
        } catch {
            throw ValidationError("\(own.text) cannot have passkeys: \(error.sentence)")
        }
    }
}
