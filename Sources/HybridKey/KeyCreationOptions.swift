// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCTAP
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridDBus
internal import HybridKeyService
internal import HybridPrimitives
internal import HybridProgram

/// The options of commands that create a passkey on a phone.
struct KeyCreationOptions: ParsableArguments {
    @Flag(help: "Show the code in a window or on a page in the browser, not on the terminal.")
    var open = false

    @Option(help: ArgumentHelp("Seconds to wait for a phone, then again for its user's answer.", valueName: "s"))
    var timeout = 120

    @Option(
        help: ArgumentHelp(
            "The linked phone to contact; default: for a new passkey none, otherwise the one used last.",
            valueName: "name"
        )
    )
    var phone: String?

    @OptionGroup
    var ceremony: CeremonyOptions

    func validate() throws {
        guard (1...3600).contains(timeout) else { throw ValidationError("--timeout takes 1 to 3600 seconds.") }
        guard (phone ?? "").utf8.count <= CeremonyRequest.maximumPhone else {
            throw ValidationError("--phone takes at most \(CeremonyRequest.maximumPhone) bytes.")
        }
    }

    /// True to show the code on the terminal.
    private var usesTerminal: Bool { !open && isatty(STDERR_FILENO) == 1 }

    /// Returns the launcher of the ceremony.
    ///
    /// While the session is locked, the code can still appear on the terminal, whose user has asked for it.
    ///
    /// - Throws: ``CommandFailure`` if a setting is unusable.
    func launcher() throws -> CeremonyLauncher {
        let (settings, usesTerminal) = (try KeySettings.resolve(ceremony), usesTerminal)
        return try ceremony.launcher(settings, usesTerminal: usesTerminal) { !usesTerminal && SessionLock.isLocked() }
    }

    /// Returns the request of the ceremony.
    ///
    /// While the session is locked, it names no linked phone, so that none is contacted.
    ///
    /// - Parameters:
    ///   - command: The command.
    ///   - purpose: The purpose on one line, for the user.
    ///   - needsSecret: True if the command is useless without the results of `prf`.
    func request(
        _ command: CeremonyRequest.Command,
        purpose: String,
        needsSecret: Bool = false
    ) -> CeremonyRequest {
        var contacted = phone
        if let phone, usesTerminal, SessionLock.isLocked() {
            HybridKey.report("the session is locked, so \(SafeText(quoting: phone)) is not contacted; scan the code")
            contacted = nil
        }
        return CeremonyRequest(
            command,
            purpose: purpose,
            seconds: timeout,
            phone: contacted,
            needsSecret: needsSecret
        )
    }
}

extension KeyCreationOptions {
    /// Reports the fingerprint of the new key, and the phone that has created it.
    func report(created fingerprint: String, by answer: CeremonyAnswer) {
        let creator = CreatorText(linkedPhone: answer.phone, named: phone)
        HybridKey.report("\(creator) has created the key with the fingerprint \(fingerprint)")
    }
}

extension CommandFailure {
    /// Creates the failure of a command from that of its ceremony.
    ///
    /// - Parameters:
    ///   - result: The result of the command, such as `no key was created`.
    ///   - failure: The failure of the ceremony.
    init(_ result: String, because failure: CommandFailure) {
        self.init("\(result): \(failure.sentence)", code: failure.code, status: failure.status)
    }
}

extension Journal {
    /// Appends the outcome of a creation.
    func append(
        _ outcome: CeremonyOutcome,
        of request: MakeCredentialRequest,
        purpose: String,
        by door: JournalEntry.Door
    ) throws(CommandFailure) {
        let result =
            switch outcome {
            case .answered: "created"
            case .cancelled: "cancelled"
            case .sessionLocked: "failed: the session is locked"
            case .refused(_, let failure), .failed(let failure): failure.journalResult
            }
        try append(
            JournalEntry(
                time: WallClock.realtime.now(),
                door: door,
                relyingParty: request.relyingParty.id.text,
                purpose: purpose,
                result: result
            )
        )
    }
}
