// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridSystemBus
internal import HybridVirtualBlueZ

/// The table on which ceremonies run: a virtual radio on a private bus, and a relay with a certificate of its own.
///
/// Who takes part: a **browser** or `hybrid-client` for the desktop, and the lab's phone or `hybrid-auth` for the other
/// side. None of them is changed: each finds the bus in `DBUS_SYSTEM_BUS_ADDRESS`, and is told by what it has for that
/// (a resolver rule, `--connect-to`) that the relay's name leads to the loopback interface.
///
/// Whom to trust: nobody. The bus can be reached by this user alone, the relay from this machine alone, and the
/// authority that signed its certificate dies with this process; its key is never written down. But what the radio
/// proves here is nothing, which is why our programs say so, and open only vaults that were made for tests.
struct LabEnvironment: Sendable {
    /// Where the virtual `org.bluez` is.
    let bus: PrivateBus
    /// The relay.
    let relay: LabRelay

    /// What programs need to find all of it.
    var surroundings: LabVariables {
        LabVariables(
            bus: bus.address,
            relay: relay.domain,
            port: relay.port,
            authority: relay.authorityFile,
            pin: relay.pin
        )
    }

    /// Runs `body` on a table of its own, which is cleared whatever happens.
    ///
    /// - Parameters:
    ///   - domain: The relay's.
    ///   - port: The relay's on 127.0.0.1; 0 takes a free one.
    ///   - adapters: How many there are, 2 to 16.
    /// - Throws: ``CommandFailure``, and what `body` throws.
    static func run<Result: Sendable>(
        domain: TunnelDomain = .lab,
        port: Int = 0,
        adapters: Int = 2,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (LabEnvironment) async throws -> Result
    ) async throws -> Result {
        let relay = try await LabRelay.start(domain, port: port)
        do {
            let result = try await withBus { bus in
                try await VirtualBlueZ.serve(on: bus.busAddress, AirSettings(adapters: adapters)) {
                    try await body(LabEnvironment(bus: bus, relay: relay))
                }
            }
            await relay.stop()
            return result
        } catch {
            await relay.stop()
            throw error
        }
    }

    private static func withBus<Result: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (PrivateBus) async throws -> Result
    ) async throws -> Result {
        let bus: PrivateBus
        do throws(PrivateBusError) {
            bus = try await PrivateBus.start()
        } catch {
            throw CommandFailure(error.sentence, status: .unavailable)
        }
        do {
            let result = try await body(bus)
            await bus.close()
            return result
        } catch let error as BusError {
            await bus.close()
            throw CommandFailure(privateBus: error)
        } catch {
            await bus.close()
            throw error
        }
    }
}

/// What can be chosen about the table.
struct LabEnvironmentOptions: ParsableArguments {
    @Option(help: "How many Bluetooth adapters there are, 2 to 16: hci0 for the desktop, hci1 for the phone.")
    var adapters = 2

    @Option(
        help: ArgumentHelp("The relay's tunnel domain; its host name follows from it.", valueName: "id|host"),
        transform: { text in
            guard let domain = TunnelDomain(argument: text) else {
                throw ValidationError(
                    "\(text) is no tunnel domain; hybrid-relay domain shows which number has which name."
                )
            }
            return domain
        }
    )
    var tunnelDomain: TunnelDomain = .lab

    @Option(help: ArgumentHelp("The relay's port on 127.0.0.1; a free one if it is not named.", valueName: "port"))
    var relayPort = 0

    /// Runs `body` on such a table.
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
    /// Used where none is chosen: the host name follows from the number, and belongs to nobody.
    static let lab: TunnelDomain = {
        guard let domain = TunnelDomain(id: 266) else { preconditionFailure("266 is a tunnel domain") }
        return domain
    }()
}
