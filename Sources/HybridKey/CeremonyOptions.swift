// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridBLEAdvert
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridKeyService
internal import HybridNetwork
internal import HybridPrimitives
internal import HybridProgram
internal import HybridThreads

extension CeremonyOptions {
    /// The arguments for the process that performs the ceremonies, from which these options are parsed.
    private var arguments: [String] {
        var arguments: [String] = []
        if let cacert { arguments += ["--cacert", cacert] }
        for override in network.connectTo { arguments += ["--connect-to", override.text] }
        if let adapter = network.adapter { arguments += ["--adapter", adapter.text] }
        if let bleChannel { arguments.append(bleChannel ? "--ble-channel" : "--no-ble-channel") }
        return arguments
    }

    /// Returns the launcher of ceremonies with these options.
    ///
    /// - Parameters:
    ///   - settings: The effective settings.
    ///   - usesTerminal: True to show the code on the terminal.
    ///   - isLocked: Returns true while nothing may be shown, because the user's session is locked.
    /// - Throws: ``CommandFailure`` if a setting is unusable.
    func launcher(
        _ settings: Configuration,
        usesTerminal: Bool,
        isLocked: @escaping @Sendable () -> Bool
    ) throws -> CeremonyLauncher {
        let prompt = try settings.value(KeySettings.prompt)
        let searchPath = ProcessEnvironment.variables["PATH"]
        return try launcher(
            settings,
            display: usesTerminal ? .terminal : .graphical(prompt: prompt, searchPath: searchPath),
            isLocked: isLocked
        )
    }

    /// Returns the launcher of ceremonies with these options and a display.
    ///
    /// - Parameters:
    ///   - settings: The effective settings.
    ///   - display: Returns the place where the code is shown.
    ///   - isLocked: Returns true while nothing may be shown, because the user's session is locked.
    ///   - showProgress: Receives each line of the progress as JSON, if the display is the caller.
    /// - Throws: ``CommandFailure`` if a setting is unusable.
    func launcher(
        _ settings: Configuration,
        display: @escaping @Sendable @autoclosure () -> CeremonyDisplay,
        isLocked: @escaping @Sendable () -> Bool,
        showProgress: @escaping @Sendable (String) -> Void = { _ in }
    ) throws -> CeremonyLauncher {
        try settings.checkCertificates(CeremonySettings.cacert, with: TrustAnchors.check)
        return CeremonyLauncher(
            program: [Self.program],
            arguments: arguments,
            isLocked: isLocked,
            showProgress: showProgress,
            display: display
        )
    }

    /// The path of this program.
    ///
    /// After an update, the link of the kernel still leads to the program that is running.
    private static var program: String {
        let link = "/proc/self/exe"
        var characters = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(link, &characters, characters.count)
        let path = String(decoding: characters.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        return access(path, X_OK) == 0 ? path : link
    }
}

extension CeremonyLauncher {
    /// Performs a ceremony of a command, which a signal cancels.
    ///
    /// - Throws: ``CommandFailure`` after a signal, and if the process has no descriptors left.
    func performUntilSignal(_ request: CeremonyRequest, event: String) async throws -> CeremonyOutcome {
        guard let cancellation = SigningCancellation() else {
            throw CommandFailure("no file descriptors left", status: .unavailable)
        }
        return try await untilSignal {
            await withTaskCancellationHandler {
                await DedicatedThread.run { perform(request, event: event, cancellation: cancellation) }
            } onCancel: {
                cancellation.cancel()
            }
        }
    }
}

extension ConnectTo {
    /// The override in curl's syntax.
    fileprivate var text: String {
        func name(_ host: String?) -> String { host.map { $0.utf8.contains(UInt8(ascii: ":")) ? "[\($0)]" : $0 } ?? "" }
        func number(_ port: Int?) -> String { port.map { "\($0)" } ?? "" }
        return "\(name(fromHost)):\(number(fromPort)):\(name(toHost)):\(number(toPort))"
    }
}
