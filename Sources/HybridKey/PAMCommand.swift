// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridCTAP
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridKeyService
internal import HybridPrimitives
internal import HybridProgram

/// The command `hybrid-key pam`, for sudo with the phone.
struct PAMCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pam",
        abstract: "Enrol a phone for sudo with pam_u2f.",
        subcommands: [Enrol.self]
    )

    struct Enrol: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a passkey for this computer on a phone and print its line for pam_u2f.",
            discussion: """
                The line goes in the file that pam_u2f's option authfile names. It requires that the phone verifies \
                its user. The option origin must have the value that is printed on standard error, so that window and \
                phone show which service asks. See docs/sudo.md before you change a file of PAM.
                """
        )

        @Option(help: ArgumentHelp("The account; default: the current one.", valueName: "name"))
        var user: String?

        @Option(
            help: ArgumentHelp(
                "The PAM service, by the name of its file in /etc/pam.d; each service has its own passkey.",
                valueName: "name"
            )
        )
        var service = "sudo"

        @OptionGroup
        var options: KeyCreationOptions

        func run() async throws {
            try StandardOutput.requireOpen()
            let launcher = try options.launcher()
            let folder = try KeySettings.stateFolder()
            let memory = CredentialMemoryStore(in: folder)
            // A memory that can't be read is reported before the phone is asked.
            _ = try memory.memory()
            let enrolment = try enrolment()
            let outcome = try await launcher.performUntilSignal(
                options.request(.create(enrolment.request), purpose: enrolment.purpose),
                event: enrolment.event(timeout: .seconds(options.timeout))
            )
            do throws(CommandFailure) {
                let journal = Journal(in: folder)
                try journal.append(outcome, of: enrolment.request, purpose: enrolment.purpose, by: .pamEnrolment)
            } catch {
                HybridKey.report(error.sentence)
            }
            switch outcome {
            case .cancelled: throw CommandFailure("it was cancelled", status: .interrupted)
            case .sessionLocked: throw CommandFailure.sessionLocked
            case .refused(_, let failure), .failed(let failure):
                throw CommandFailure("no passkey was created", because: failure)
            case .answered(let answer):
                guard let (credential, line, fingerprint) = enrolment.enrolment(in: answer.response) else {
                    throw CommandFailure(
                        "the phone's response has no new passkey; try a different phone",
                        status: .dataError
                    )
                }
                options.report(created: fingerprint, by: answer)
                // The phone has stored the passkey already, so the line is printed first.
                try StandardOutput.writeLine(line)
                HybridKey.report("pam_u2f needs origin=\(enrolment.origin) in /etc/pam.d/\(service); see docs/sudo.md")
                try memory.add(credential, of: enrolment.request.relyingParty.id)
            }
        }

        private func enrolment() throws -> PAMEnrolment {
            let (user, host) = (try user ?? Self.accountName(), try Self.hostName())
            var generator = SystemRandomNumberGenerator()
            guard let enrolment = PAMEnrolment(user: user, host: host, service: service, using: &generator) else {
                throw CommandFailure(
                    "the account \(SafeText(quoting: user)) on \(SafeText(quoting: host)) can't be enrolled for "
                        + "\(SafeText(quoting: service)); its name must consist of letters, digits, dots, underscores "
                        + "and hyphens",
                    status: .usage
                )
            }
            return enrolment
        }

        private static func accountName() throws -> String {
            guard let entry = getpwuid(geteuid()) else {
                throw CommandFailure("this user has no account name; use --user", status: .usage)
            }
            return String(cString: entry.pointee.pw_name)
        }

        /// The name that pam_u2f uses, too.
        private static func hostName() throws -> String {
            var name = [CChar](repeating: 0, count: 256)
            guard gethostname(&name, name.count - 1) == 0 else {
                throw CommandFailure("this computer has no name", status: .unavailable)
            }
            return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}

/// The command `hybrid-key forget`, which clears the memory of the security key.
struct ForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Forget for which local services the security key was used.",
        discussion: """
            The key remembers the passkeys of ssh and sudo, so that it claims only its own while another security key is \
            plugged in. The passkeys stay on the phone, and are remembered again when they are used.
            """
    )

    func run() async throws {
        try CredentialMemoryStore(in: try KeySettings.stateFolder()).forget()
        HybridKey.report("forgot the credentials of the security key")
    }
}
