// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridBLEAdvert
internal import HybridCaBLE
internal import HybridCommandSupport
internal import HybridDesktopPortal
internal import HybridPhoneLinks
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession

/// `hybrid-auth links`: lists and changes the links with computers.
///
/// No subcommand needs the PIN, because a link gives no access to passkeys.
struct LinksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "links",
        abstract: "List, rename, unmute and forget linked computers.",
        subcommands: [LinksList.self, LinksRename.self, LinksUnmute.self, LinksForget.self]
    )
}

/// Options of all subcommands of `links`.
struct LinkOutput: ParsableArguments {
    @Flag(help: "One JSON object on standard output.")
    var json = false

    /// Returns the links; reports damaged files.
    func contents() throws(CommandFailure) -> (store: PhoneLinkStore, contents: PhoneLinkStore.Contents) {
        let store = try PhoneLinkStore(path: PhoneLinkStore.defaultPath(ProcessEnvironment.variables))
        let contents = try store.contents()
        for sentence in contents.damaged { report(sentence) }
        return (store, contents)
    }

    /// Returns the link that a user means.
    func find(_ which: String) throws(CommandFailure) -> (store: PhoneLinkStore, record: StoredPhoneLink) {
        let (store, contents) = try contents()
        return (store, try LinkChoice.find(which, in: contents.links))
    }

    /// Prints a link as JSON, if that is wanted.
    func write(_ record: StoredPhoneLink?) throws {
        if json, let record { try StandardOutput.writeLine(LinkJSON.row(record).description) }
    }
}

/// `links list`: lists all links.
struct LinksList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the linked computers, and those whose links are being revoked."
    )

    @OptionGroup var output: LinkOutput

    func run() async throws {
        let contents = try output.contents().contents
        let now = WallClock.realtime.now()
        for record in contents.links where record.isUnreachable(at: now) {
            report(LinkText.unreachable(record.label))
        }
        let revoking = contents.revocations.filter { $0.revocation?.isConfirmed == false }
        if output.json {
            let rows = (contents.links + revoking).map(LinkJSON.row)
            return try StandardOutput.writeLine(JSONText.object([("links", .array(rows))]).description)
        }
        guard !contents.links.isEmpty || !revoking.isEmpty else {
            return report("no computer is linked; show a code with hybrid-client show-qr --link and scan it")
        }
        try StandardOutput.writeLine(LinkText.table(contents.links + revoking))
    }
}

/// `links rename WHICH NAME`: changes the name of a computer.
struct LinksRename: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Change the name of a linked computer on this device.",
        discussion: LinkChoice.explanation
    )

    @OptionGroup var output: LinkOutput

    @Argument(help: LinkChoice.help)
    var which: String

    @Argument(help: "The new name.")
    var name: String

    func validate() throws { try LinkLabel.validate(name) }

    func run() async throws {
        let (store, record) = try output.find(which)
        try store.rename(record.id, to: name)
        report("the computer is shown as \(SafeText(quoting: name)) from now on")
        try output.write(store.record(record.id))
    }
}

/// `links unmute WHICH`: lets a muted computer ask again.
struct LinksUnmute: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmute",
        abstract: "Let a muted computer ask again.",
        discussion: LinkChoice.explanation
    )

    @OptionGroup var output: LinkOutput

    @Argument(help: LinkChoice.help)
    var which: String

    func run() async throws {
        let (store, record) = try output.find(which)
        try store.unmute(record.id)
        report("\(SafeText(quoting: record.label)) can ask again")
        try output.write(store.record(record.id))
    }
}

/// `links forget WHICH`: deletes a link and revokes it at the relay.
struct LinksForget: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Delete a link and revoke it at the relay.",
        discussion: """
            The computer can no longer ask this device. If the relay or the push service can't be reached, hybrid-auth \
            listen revokes the link later.

            \(LinkChoice.explanation)
            """
    )

    private static let limit = Duration.seconds(15)

    @OptionGroup var output: LinkOutput

    @OptionGroup var relay: LinkRelayOptions

    @Argument(help: LinkChoice.help)
    var which: String

    func run() async throws {
        let settings = try AuthSettings.resolve(relay)
        let network = try relay.configuration(settings)
        let (store, record) = try output.find(which)
        // First, so that the link is dead even if the relay is unreachable or the command is interrupted.
        try store.forget(record.id, at: WallClock.realtime.now())
        let name = SafeText(quoting: record.label)
        do {
            try await untilSignal {
                try await withDeadline(Self.limit, orThrow: CommandFailure("it did not respond", status: .temporary)) {
                    if let push = record.push {
                        let address = SessionBus.address(ProcessEnvironment.variables)
                        return try await PushService.unsubscribe(push, on: address)
                    }
                    let destination = try ListenRunner.destination(record.domain, settings, network)
                    try await LinkListeners.revoke(record, at: destination)
                }
            }
            try store.confirmRevocation(record.id)
        } catch let error as any ExplainedFailure where error.status != .interrupted {
            // A running service revokes at the same time, and the relay closes the older connection.
            if try store.record(record.id)?.revocation?.isConfirmed != true {
                let receiver = record.push == nil ? "relay" : "push service"
                report(
                    "the link with \(name) is deleted here; the \(receiver) does not know yet (\(error.message)), and "
                        + "hybrid-auth listen retries"
                )
                return try output.write(store.record(record.id))
            }
        }
        report("the link with \(name) is deleted and revoked")
        try output.write(store.record(record.id))
    }
}

/// Selection of a link by its name or the beginning of its ID.
enum LinkChoice {
    private static let minimumDigits = 4

    static let help = ArgumentHelp("The computer's name, or the beginning of the link's ID.", valueName: "which")
    static let explanation = """
        WHICH is the name of a computer, or the beginning of an ID as `links list` shows it, \(minimumDigits) digits or \
        more.
        """

    /// Returns the selected link.
    ///
    /// - Throws: ``CommandFailure`` if there is none, or more than one.
    static func find(_ which: String, in links: [StoredPhoneLink]) throws(CommandFailure) -> StoredPhoneLink {
        let digits = Array(which.lowercased().utf8)
        let found = links.filter { record in
            record.label.utf8.elementsEqual(which.utf8)
                || (digits.count >= minimumDigits && Hex.encode(record.id.bytes).utf8.starts(with: digits))
        }
        guard let first = found.first else {
            throw CommandFailure("there is no such link; list them with hybrid-auth links list", status: .noInput)
        }
        guard found.count == 1 else {
            throw CommandFailure("\(found.count) links match; name one by the beginning of its ID", status: .usage)
        }
        return first
    }
}

/// Links as text for a terminal; the user's name for a computer is at the end of its line.
enum LinkText {
    /// Returns one line for each link, with a heading.
    static func table(_ records: [StoredPhoneLink]) -> String {
        PasskeyText.columns(
            ["ID", "CREATED", "LAST USED", "STATE", "RELAY", "COMPUTER"],
            records.map { record in
                [
                    Hex.encode(record.id.bytes.prefix(4)), LocalTime.text(record.created),
                    record.activity?.lastUsed.map(LocalTime.text) ?? "never", state(record), record.domain.host,
                    "\(SafeText(quoting: record.label))",
                ]
            }
        )
    }

    /// Returns the sentence about a link whose push subscription has ended.
    static func unreachable(_ label: String) -> String {
        "\(SafeText(quoting: label)) can't wake this device, because its push subscription has ended; link it again"
    }

    /// Returns the word for the state of a link.
    static func state(_ record: StoredPhoneLink) -> String {
        guard let activity = record.activity else {
            return record.revocation?.isConfirmed == true ? "revoked" : "to-be-revoked"
        }
        if record.isUnreachable(at: WallClock.realtime.now()) { return "unreachable" }
        if activity.programs.isMuted { return "muted" }
        return activity.guests.isMuted ? "muted-for-guests" : "active"
    }
}

/// Links in JSON; names are not shortened, and unknown values are `null`.
enum LinkJSON {
    /// Returns a link.
    static func row(_ record: StoredPhoneLink) -> JSONText {
        .object([
            ("id", .string(Hex.encode(record.id.bytes))), ("name", .string(record.label)),
            ("state", .string(LinkText.state(record))), ("relay", .string(record.domain.host)),
            ("wakeUp", .string(record.push == nil ? "connection" : "push")),
            ("created", .number(Int(clamping: record.created))),
            ("lastUsed", record.activity?.lastUsed.map { .number(Int(clamping: $0)) } ?? .null),
        ])
    }
}
