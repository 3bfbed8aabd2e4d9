// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridThreads
internal import HybridVirtualBlueZ

/// Chromium with the demo site, and `hybrid-auth` as the phone that scans each code on the screen.
struct PhoneAndBrowser: Sendable {
    let environment: LabEnvironment
    /// The folder for the phone's passkeys; `nil` for a temporary one.
    let folder: String?
    /// The program that asks the phone's user; `nil` for that of hybrid-auth.
    let pinentry: String?

    private static let browserName = "chromium"

    /// Runs until the user closes Chromium.
    func run() async throws {
        guard ProcessEnvironment.variables["DISPLAY"]?.isEmpty == false else {
            throw CommandFailure(
                "DISPLAY is not set, so no code can be read from the screen; start an X session, or use xvfb-run",
                status: .unavailable
            )
        }
        let authenticator = try authenticator()
        try await withTemporaryFolder { temporary in
            let phone = folder ?? temporary + "/phone"
            let browser = try start(profile: temporary + "/profile")
            try await withCleanup {
                browser.send(SIGTERM)
                _ = await browser.wait()
            } of: {
                try await withThrowingTaskGroup { group in
                    group.addTask { try await answerCodes(with: authenticator, in: phone) }
                    group.addTask { while browser.poll() == nil { try await Task.sleep(for: .milliseconds(200)) } }
                    defer { group.cancelAll() }
                    try await group.next()
                }
            }
            if case .exited(let status)? = browser.poll(), status != 0 {
                throw CommandFailure("\(Self.browserName) ended with status \(status)", status: .unavailable)
            }
        }
    }

    /// Returns the path of hybrid-auth: beside this program, or else in PATH.
    private func authenticator() throws(CommandFailure) -> String {
        let beside = ShinySite.programFolder.map { "\($0)/hybrid-auth" }
        guard let beside, access(beside, X_OK) == 0 else { return "hybrid-auth" }
        return beside
    }

    private func start(profile: String) throws(CommandFailure) -> ChildProcess {
        var words = [Self.browserName, "--user-data-dir=\(profile)", "--no-first-run", "--no-default-browser-check"]
        words += ["--password-store=basic", "--ozone-platform=x11", "--test-type"] + environment.chromiumSwitches
        // Chromium's sandbox does not work for root.
        if geteuid() == 0 { words.append("--no-sandbox") }
        let variables = ["DBUS_SYSTEM_BUS_ADDRESS": environment.bus.address]
        do throws(ChildProcess.SpawnError) {
            return try .spawn(
                words + [ShinySite.address],
                variables: variables,
                input: .null,
                output: .null,
                error: .null,
                role: .service
            )
        } catch {
            throw CommandFailure(
                "\(Self.browserName) cannot be run: \(error.reason); install the package \(Self.browserName)",
                status: .unavailable
            )
        }
    }

    private func answerCodes(with authenticator: String, in phone: String) async throws {
        let codes = CodeReader(.screen(display: nil))
        while true {
            let offer = try await codes.next(timeout: .seconds(365 * 24 * 3600))
            try await answer(offer, with: authenticator, in: phone)
        }
    }

    /// Runs hybrid-auth for one code, which it reads from its standard input.
    private func answer(_ offer: QROffer, with authenticator: String, in phone: String) async throws {
        var words = [authenticator, "scan", "--vault", phone + "/vault", "--adapter", "hci1", "--no-ask-to-link"]
        words += ["--tunnel-domain", String(environment.relay.domain.id), "--cacert", environment.relay.authorityFile]
        words += ["--connect-to", environment.relay.connectTo]
        if let pinentry { words += ["--pinentry", pinentry] }
        guard let (input, output) = SocketPair.make() else {
            throw CommandFailure("no file descriptors left", status: .unavailable)
        }
        let child: ChildProcess
        do throws(ChildProcess.SpawnError) {
            defer { close(input) }
            child = try ChildProcess.spawn(
                words + ["-"],
                variables: [
                    "DBUS_SYSTEM_BUS_ADDRESS": environment.bus.address, "XDG_STATE_HOME": phone + "/state",
                ],
                input: .descriptor(input)
            )
        } catch {
            close(output)
            throw CommandFailure(
                "hybrid-auth cannot be run: \(error.reason); put it next to hybrid-lab",
                status: .unavailable
            )
        }
        _ = writeAll(Array((offer.text + "\n").utf8), to: output)
        close(output)
        // A phone that fails reports it; the next code is answered again.
        await withTaskCancellationHandler {
            _ = await child.wait()
        } onCancel: {
            child.send(SIGTERM)
        }
    }
}
