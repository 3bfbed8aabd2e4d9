// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridSystemBus
internal import HybridVirtualBlueZ

/// Runs a command with a virtual Bluetooth radio in place of the system's.
struct Air: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "air",
        abstract: "Run a command on a private bus with a virtual Bluetooth service.",
        discussion: """
            The command and all it starts find the bus in DBUS_SYSTEM_BUS_ADDRESS. The adapters hci0, hci1 and so on \
            hear each other. The exit status is the command's; 128 and the signal's number if it was killed, 127 if \
            it was not found.
            """
    )

    @Option(help: "How many adapters there are, 1 to 16.")
    var adapters = 2

    @Flag(name: .customLong("no-loopback"), help: "An adapter does not hear its own adverts.")
    var noLoopback = false

    @Argument(parsing: .postTerminator, help: "The command and its arguments, after --.")
    var command: [String] = []

    func validate() throws {
        guard (1...16).contains(adapters) else { throw ValidationError("--adapters takes 1 to 16.") }
        guard !command.isEmpty else { throw ValidationError("Name a command after --.") }
    }

    func run() async throws {
        SignalForwarding.install()
        let bus: PrivateBus
        do throws(PrivateBusError) {
            bus = try await PrivateBus.start()
        } catch {
            throw CommandFailure(error.sentence, status: .unavailable)
        }
        let settings = AirSettings(adapters: adapters, loopback: !noLoopback)
        let code: ExitCode
        do {
            code = try await VirtualBlueZ.serve(on: bus.busAddress, settings) {
                StandardError.writeLine("VIRTUAL RADIO on \(bus.address)")
                return await WrappedCommand.run(command, ["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
            }
        } catch {
            await bus.close()
            throw (error as? BusError).map(CommandFailure.init(privateBus:)) ?? error as any Error
        }
        await bus.close()
        throw code
    }
}
