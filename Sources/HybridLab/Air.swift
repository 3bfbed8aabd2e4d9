// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
private import Glibc
internal import SystemBus
internal import VirtualBlueZ

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
        PassedSignals.install()
        let bus: PrivateBus
        do throws(PrivateBusError) {
            bus = try await PrivateBus.start()
        } catch {
            throw Self.end(69, saying: error.sentence)
        }
        let settings = AirSettings(adapters: adapters, loopback: !noLoopback)
        let code: ExitCode
        do {
            code = try await VirtualBlueZ.serve(on: bus.busAddress, settings) {
                await runCommand(on: bus.address)
            }
        } catch {
            await bus.close()
            throw Self.end(69, saying: "the private bus failed: \(error)")
        }
        await bus.close()
        throw code
    }

    private func runCommand(on address: String) async -> ExitCode {
        Self.say("VIRTUAL RADIO on \(address)")
        let child: ChildProcess
        do throws(ChildProcess.SpawnError) {
            child = try ChildProcess.spawn(command, variables: ["DBUS_SYSTEM_BUS_ADDRESS": address])
        } catch {
            // As shells do.
            let code: CInt = error.code == ENOENT ? 127 : 126
            return Self.end(code, saying: "\(command[0]) cannot be run: \(error.words)")
        }
        PassedSignals.pass(to: child.id)
        let ending = await child.wait()
        PassedSignals.stop()
        return ExitCode(ending.shellStatus)
    }

    private static func end(_ code: CInt, saying sentence: String) -> ExitCode {
        say("hybrid-lab air: " + sentence)
        return ExitCode(code)
    }

    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}

/// Hands SIGINT, SIGTERM and SIGHUP on to the command, so that it is the one to decide how to end.
///
/// What the terminal sends reaches the command by itself, being in the same process group, and is not sent twice.
private enum PassedSignals {
    private struct State {
        var child: pid_t = 0
        var waiting: CInt = 0
    }

    // Written before a handler is installed or by aligned single words only, which is all a signal handler may rely
    // on; never freed, because a handler may run until the process ends.
    private nonisolated(unsafe) static let state: UnsafeMutablePointer<State> = {
        let state = UnsafeMutablePointer<State>.allocate(capacity: 1)
        state.initialize(to: State())
        return state
    }()

    /// Starts to catch the signals; those that come before there is a child wait for it.
    static func install() {
        _ = state
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            var old = sigaction()
            sigaction(signal, nil, &old)
            // What was ignored (nohup) stays ignored, here and in the command.
            if old.__sigaction_handler.sa_handler.map({ unsafeBitCast($0, to: Int.self) }) == 1 { continue }
            var action = sigaction()
            action.sa_flags = SA_SIGINFO | SA_RESTART
            action.__sigaction_handler.sa_sigaction = { signal, info, _ in
                PassedSignals.take(signal, fromTerminal: (info?.pointee.si_code ?? 0) > 0)
            }
            sigaction(signal, &action, nil)
        }
    }

    /// Names the child, and sends it what has come before.
    static func pass(to child: pid_t) {
        state.pointee.child = child
        if state.pointee.waiting != 0 { kill(child, state.pointee.waiting) }
    }

    /// The child is gone; its ID may be given to another process.
    static func stop() {
        state.pointee.child = 0
    }

    private static func take(_ signal: CInt, fromTerminal: Bool) {
        // A positive si_code is the kernel's: the terminal's own.
        let child = state.pointee.child
        if child == 0 {
            state.pointee.waiting = signal
        } else if !fromTerminal {
            kill(child, signal)
        }
    }
}
