// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDBus
internal import HybridPrimitives
internal import HybridProgram
internal import HybridVirtualBlueZ

/// An environment for ceremonies: a virtual radio on a private bus, and a relay with its own certificate.
///
/// The client is a browser or `hybrid-client`. The authenticator is the lab's phone or `hybrid-auth`. These programs
/// are unmodified: they find the bus in `DBUS_SYSTEM_BUS_ADDRESS`, and a resolver rule or `--connect-to` maps the
/// relay's host name to the loopback interface.
///
/// Only this user can connect to the bus, and only programs on this computer can connect to the relay. The relay's
/// certificate is issued by an authority that exists only in this process, and whose key is never stored. The virtual
/// radio does not prove proximity. Our programs report this, and open only vaults that were created for tests.
struct LabEnvironment: Sendable {
    /// The bus with the virtual `org.bluez`.
    let bus: PrivateBus
    /// The relay.
    let relay: LabRelay
    /// The demo site, if it is served.
    var site: ShinySite?

    /// Runs `body` in a new environment, which is removed even if `body` throws.
    ///
    /// - Parameters:
    ///   - domain: The relay's tunnel domain.
    ///   - port: The relay's port on 127.0.0.1; 0 selects a free one.
    ///   - adapters: The number of adapters, 2 to 16.
    /// - Throws: ``CommandFailure``, and the error that `body` throws.
    static func run<Result: Sendable>(
        domain: TunnelDomain = .lab,
        port: Int = 0,
        adapters: Int = 2,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (LabEnvironment) async throws -> Result
    ) async throws -> Result {
        let relay = try await LabRelay.start(domain, port: port)
        return try await withCleanup {
            await relay.stop()
        } of: {
            try await withBus { bus in
                try await VirtualBlueZ.serve(on: bus.busAddress, AirSettings(adapters: adapters)) {
                    try await body(LabEnvironment(bus: bus, relay: relay))
                }
            }
        }
    }

    /// Runs `body` with a private bus; failures of the bus are converted to a ``CommandFailure``.
    static func withBus<Result: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (PrivateBus) async throws -> Result
    ) async throws -> Result {
        do {
            return try await PrivateBus.run(body)
        } catch let error as PrivateBusError {
            throw CommandFailure(error.sentence, status: .unavailable)
        } catch let error as BusError {
            let reason =
                switch error {
                case .notReachable(let address): "nothing accepts connections at \(address)"
                case .timedOut: "it did not answer in time"
                case .disconnected: "it closed the connection"
                case .cancelled: "it was interrupted"
                case .refused(_, let message), .malformed(let message): message
                }
            throw CommandFailure("the private bus failed: \(reason)", status: .unavailable)
        }
    }
}

/// The settings for programs in the environment: variables for our programs, and switches for Chromium.
extension LabEnvironment {
    /// The environment variables, sorted by name.
    ///
    /// `hybrid-lab phone` reads all of them except the one for Chromium. Other programs that use BlueZ read the first.
    var variables: [(String, String)] {
        [
            ("DBUS_SYSTEM_BUS_ADDRESS", bus.address),
            ("HYBRID_LAB_CACERT", relay.authorityFile),
            ("HYBRID_LAB_CHROMIUM_ARGS", JSONText.array(chromiumSwitches.map(JSONText.string)).description),
            ("HYBRID_LAB_CONNECT_TO", relay.connectTo),
            ("HYBRID_LAB_TUNNEL_DOMAIN", String(relay.domain.id)),
        ]
    }

    /// The switches with which Chromium connects to the relay and trusts its certificate.
    ///
    /// Chromium honors the second switch only together with `--user-data-dir`, which Playwright and Selenium always
    /// set.
    var chromiumSwitches: [String] {
        let hosts = [(relay.domain.host, relay.port)] + (site?.hosts ?? [])
        let pins = [relay.pin, site?.pin].compactMap(\.self)
        return [
            "--host-resolver-rules=" + hosts.map { "MAP \($0):443 127.0.0.1:\($1)" }.joined(separator: ","),
            "--ignore-certificate-errors-spki-list=" + pins.joined(separator: ","),
        ]
    }

    /// All settings for programs, as one JSON object.
    var json: JSONText {
        let site = site.map { site in
            JSONText.object([
                ("origin", .string("https://\(ShinySite.host)")),
                ("related_origin", .string("https://\(ShinySite.relatedHost)")),
                ("address", .string("127.0.0.1:\(site.port)")), ("spki_sha256", .string(site.pin)),
            ])
        }
        let relay = JSONText.object([
            ("tunnel_domain", .number(Int(relay.domain.id))), ("host", .string(relay.domain.host)),
            ("address", .string("127.0.0.1:\(relay.port)")), ("cacert", .string(relay.authorityFile)),
            ("spki_sha256", .string(relay.pin)),
        ])
        let members: [(String, JSONText)] = [
            ("event", .string("ready")),
            ("environment", .object(variables.map { ($0, .string($1)) })),
            ("chromium", .array(chromiumSwitches.map(JSONText.string))),
            ("relay", relay),
            ("bus", .string(bus.address)),
        ]
        return .object(members + (site.map { [("shiny", $0)] } ?? []))
    }

    /// The shell lines that export the variables.
    var shellLines: [String] {
        variables.map { name, value in
            let quoted = value.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#)
            return "export \(name)='\(quoted)'"
        }
    }
}

/// The command-line options of the lab environment.
struct LabEnvironmentOptions: ParsableArguments {
    @Option(help: "The number of Bluetooth adapters, 2 to 16: hci0 for the client, hci1 for the phone.")
    var adapters = 2

    @Option(
        help: ArgumentHelp("The relay's tunnel domain; its host name follows from it.", valueName: "id|host"),
        transform: { text in
            guard let domain = TunnelDomain(argument: text) else {
                throw ValidationError(
                    "\(text) is not a tunnel domain; for a list, run hybrid-relay domain list."
                )
            }
            return domain
        }
    )
    var tunnelDomain: TunnelDomain = .lab

    @Option(help: ArgumentHelp("The relay's port on 127.0.0.1; by default a free one.", valueName: "port"))
    var relayPort = 0

    /// Runs `body` in an environment with these options.
    func run<Result: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (LabEnvironment) async throws -> Result
    ) async throws -> Result {
        try await LabEnvironment.run(domain: tunnelDomain, port: relayPort, adapters: adapters, body)
    }

    func validate() throws {
        guard (2...16).contains(adapters) else { throw ValidationError("--adapters takes 2 to 16.") }
        guard (0...65535).contains(relayPort) else { throw ValidationError("--relay-port takes 1 to 65535.") }
    }
}

extension TunnelDomain {
    /// The default tunnel domain of the lab, whose host name is not registered.
    static let lab: TunnelDomain = {
        guard let domain = TunnelDomain(id: 266) else { preconditionFailure("266 is a tunnel domain") }
        return domain
    }()
}
