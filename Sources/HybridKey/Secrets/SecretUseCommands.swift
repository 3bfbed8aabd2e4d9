// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import HybridAge
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSecrets

/// The command `hybrid-key secret derive`.
struct SecretDeriveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "derive",
        abstract: "Print the secret of a key for a purpose, such as a password for restic.",
        discussion: """
            The same key and purpose always give the same secret: 43 characters and a line end. Nothing is printed unless \
            the phone has opened the key.
            """
    )

    @OptionGroup
    var name: SecretNameOption

    @Argument(help: "The purpose, such as restic:laptop.")
    var purpose: String

    @Flag(help: "Print 32 bytes and nothing else, as key files need them.")
    var raw = false

    @OptionGroup
    var phone: SecretPhoneOptions

    func run() async throws {
        try StandardOutput.requireOpen()
        guard let purpose = SecretPurpose(purpose) else {
            throw CommandFailure(
                "the purpose has 1 to \(SecretPurpose.maximumLength) bytes of UTF-8 without control characters",
                status: .usage
            )
        }
        guard !raw || isatty(STDOUT_FILENO) != 1 else {
            throw CommandFailure("the secret is binary; redirect the output, or leave out --raw", status: .usage)
        }
        let key = try name.load().key
        let secret = try await phone.phone().open(key, for: purpose).named(purpose)
        var output = raw ? secret.bytes : secret.text + [UInt8(ascii: "\n")]
        defer { SecretBytes.wipe(&output) }
        guard writeAll(output, to: STDOUT_FILENO) else { throw CommandFailure.outputNotWritten }
    }
}

/// The command `hybrid-key secret open`.
struct SecretOpenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open",
        abstract: "Print AGE-SECRET-KEY-1…, for a pipe to another program."
    )

    @OptionGroup
    var name: SecretNameOption

    @Flag(help: "Print it on a terminal, too.")
    var force = false

    @OptionGroup
    var phone: SecretPhoneOptions

    func run() async throws {
        try StandardOutput.requireOpen()
        guard force || isatty(STDOUT_FILENO) != 1 else {
            throw CommandFailure("the key would stay on the terminal; use a pipe, or --force", status: .usage)
        }
        let key = try name.load().key
        let line = SecretLine(try await phone.phone().open(key))
        guard writeAll(line.bytes, to: STDOUT_FILENO) else { throw CommandFailure.outputNotWritten }
    }
}

/// The command `hybrid-key secret run`.
struct SecretRunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a command with the key, after one approval.",
        discussion:
            "AGE_IDENTITY is the path of the key for age -i. Other programs of yours can read it while the command runs."
    )

    @OptionGroup
    var name: SecretNameOption

    @OptionGroup
    var phone: SecretPhoneOptions

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The command and its arguments, after --.", valueName: "command")
    )
    var command: [String] = []

    func validate() throws {
        guard !command.isEmpty else { throw ValidationError("Name a command after --.") }
    }

    func run() async throws {
        let key = try name.load().key
        // Before the phone is asked.
        guard let program = Self.path(of: command[0]) else {
            throw CommandFailure("there is no program \(SafeText(quoting: command[0]))", status: .noInput)
        }
        let line = SecretLine(try await phone.phone().open(key))
        // A pipe could be read once only, and a file would stay.
        guard let descriptor = SealedMemory.make(line.bytes) else {
            throw CommandFailure("no memory for the key: \(String(cString: strerror(errno)))", status: .unavailable)
        }
        setenv("AGE_IDENTITY", "/dev/fd/\(descriptor)", 1)
        let arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        Self.restoreSignals()
        execv(program, arguments)
        throw CommandFailure("\(command[0]): \(String(cString: strerror(errno)))", status: .noInput)
    }

    /// Returns the path of a program, which a name without a slash has on the search path.
    private static func path(of name: String) -> String? {
        guard !name.contains("/") else { return access(name, X_OK) == 0 ? name : nil }
        let folders = (ProcessEnvironment.variables["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        return folders.lazy.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }

    /// Restores what this program has changed for itself, so that the command can be interrupted.
    private static func restoreSignals() {
        signal(SIGPIPE, SIG_DFL)
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
    }
}

/// A key as a line of text, which is wiped on release.
private final class SecretLine {
    private(set) var bytes: [UInt8]

    init(_ key: AgeSecretKey) { bytes = key.text + [UInt8(ascii: "\n")] }

    deinit { SecretBytes.wipe(&bytes) }
}
