// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCommandSupport
internal import HybridProgram
internal import HybridVirtualBlueZ

/// The command `hybrid-lab air`, which runs a program with a virtual Bluetooth radio instead of the system's.
struct AirCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "air",
        abstract: "Run a command on a private bus with a virtual Bluetooth service.",
        discussion: """
            The command and its child processes find the bus in DBUS_SYSTEM_BUS_ADDRESS. The adapters hci0, hci1 and \
            so on receive each other's adverts. The exit status is that of the command: 128 plus the signal's number \
            if it was killed, 127 if it was not found.
            """
    )

    @Option(help: "The number of adapters, 1 to 16.")
    var adapters = 2

    @Flag(name: .customLong("no-loopback"), help: "Adapters do not receive their own adverts.")
    var noLoopback = false

    @Argument(parsing: .postTerminator, help: "The command and its arguments, after --.")
    var command: [String] = []

    func validate() throws {
        guard (1...16).contains(adapters) else { throw ValidationError("--adapters takes 1 to 16.") }
        guard !command.isEmpty else { throw ValidationError("Name a command after --.") }
    }

    func run() async throws {
        SignalForwarding.install()
        let settings = AirSettings(adapters: adapters, loopback: !noLoopback)
        let code = try await LabEnvironment.withBus { bus in
            try await VirtualBlueZ.serve(on: bus.busAddress, settings) {
                StandardError.writeLine("VIRTUAL RADIO on \(bus.address)")
                return await WrappedCommand.run(command, ["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
            }
        }
        throw code
    }
}
