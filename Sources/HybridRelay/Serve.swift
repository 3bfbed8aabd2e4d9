// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import RelayCore
internal import ServiceSupport

/// `hybrid-relay serve`: runs the relay until a signal ends it.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the relay.",
        discussion: """
            Serves /cable/new and /cable/connect by HTTP/1.1 and WebSocket. SIGTERM and SIGINT close every tunnel \
            with code 1001 and end the relay with status 0.
            """
    )

    @Option(help: ArgumentHelp("Where to listen; may be given more than once.", valueName: "host:port"))
    var listen: [ListenAddress]

    @Option(help: ArgumentHelp("Certificate chain in PEM, the relay's own first.", valueName: "file"))
    var tlsCert: String?

    @Option(help: ArgumentHelp("Private key in PEM, not encrypted.", valueName: "file"))
    var tlsKey: String?

    @Flag(help: "Speak without TLS; on loopback addresses only.")
    var plaintext = false

    @Flag(help: "Allow --plaintext where other machines can reach it.")
    var insecurePublicPlaintext = false

    func run() async throws {
        let transport = try transport()
        let addresses = try listen.map(resolve)
        raiseDescriptorLimit()
        let logger = Logger(label: HybridRelay.programName) { StderrLogHandler(label: $0) }
        let server = RelayServer(
            configuration: RelayConfiguration(listen: addresses, transport: transport),
            logger: logger
        )
        // Nothing is reloaded yet; what a log rotation sends must not end every tunnel.
        signal(SIGHUP, SIG_IGN)
        let outcome = await withTerminationSignals([.interrupt, .terminate]) {
            do {
                _ = try await server.start()
            } catch {
                throw CommandFailure("cannot listen: \(error)", status: .unavailable)
            }
            await untilCancelled()
            await server.shutdown()
        }
        try outcome.result.get()
    }

    private func transport() throws -> RelayTransport {
        switch (plaintext, tlsCert, tlsKey) {
        case (true, nil, nil): return .plaintext
        case (false, let certificate?, let key?): return .tls(try tlsContext(certificate: certificate, key: key))
        default: throw CommandFailure("give either --tls-cert and --tls-key, or --plaintext", status: .usage)
        }
    }

    private func tlsContext(certificate: String, key: String) throws -> NIOSSLContext {
        do {
            return try RelayCertificate.context(certificateFile: certificate, keyFile: key)
        } catch {
            switch error {
            case .unreadable(let path):
                throw CommandFailure("cannot read \(path)", status: .noInput)
            case .noCertificate(let path):
                throw CommandFailure("\(path) holds no PEM certificate", status: .configuration)
            case .noKey(let path):
                throw CommandFailure("\(path) holds no unencrypted PEM private key", status: .configuration)
            case .mismatch(let certificate, let key):
                throw CommandFailure("the key in \(key) does not belong to \(certificate)", status: .configuration)
            case .refused(let why):
                throw CommandFailure("the certificate cannot be used: \(why)", status: .configuration)
            }
        }
    }

    private func resolve(_ address: ListenAddress) throws -> SocketAddress {
        let resolved: SocketAddress
        do {
            resolved = try SocketAddress.makeAddressResolvingHost(address.host, port: address.port)
        } catch {
            throw CommandFailure("cannot resolve \(address.host)", status: .unavailable)
        }
        guard !plaintext || resolved.isLoopback || insecurePublicPlaintext else {
            throw CommandFailure(
                "--plaintext on \(address) would show everybody's tunnel IDs to the network: use --tls-cert and "
                    + "--tls-key, a loopback address, or --insecure-public-plaintext",
                status: .usage
            )
        }
        return resolved
    }

    /// As many sockets as the system lets this process have; the usual soft limit of 1,024 is 500 tunnels.
    private func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit)
    }
}

/// Returns when the task is cancelled.
private func untilCancelled() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
    for await _ in stream {}
    continuation.finish()
}
