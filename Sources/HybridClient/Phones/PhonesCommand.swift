// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import HybridCaBLE
internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession

/// The command `hybrid-client phones`, which lists and changes the linked phones.
struct PhonesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "phones",
        abstract: "List, rename or forget linked phones.",
        discussion: "A phone is linked with show-qr --link or hybrid-key link. hybrid-key contacts the same phones.",
        subcommands: [List.self, Rename.self, Forget.self]
    )

    /// The store of this user, which reports damaged files on standard error.
    fileprivate static func store() throws(CommandFailure) -> LinkStore {
        try LinkStore.ofUser { StandardError.writeLine("\(HybridClient.programName): \($0)") }
    }

    /// Returns the only link with a name or ID.
    ///
    /// - Throws: ``CommandFailure`` if there is none, or more than one.
    fileprivate static func link(to text: String, in store: LinkStore) throws(CommandFailure) -> StoredLink {
        let links = try store.links(to: text)
        guard let link = links.first else { throw CommandFailure(unknownPhone: text) }
        guard links.count == 1 else {
            let ids = links.map(\.id).joined(separator: ", ")
            throw CommandFailure("several phones have the name \(link.name.quoted); use an ID: \(ids)", status: .usage)
        }
        return link
    }

    /// The command `phones list`.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List the linked phones, the last used first.",
            discussion: """
                Prints a line for each phone: ID, time of the last use, relay, name, and when and how the phone was \
                linked. With --json, the line is an object. Contains no secrets.
                """
        )

        @Flag(help: "Print each phone as JSON, one object per line.")
        var json = false

        func run() throws {
            for link in try PhonesCommand.store().links() {
                try StandardOutput.writeLine(json ? link.json.description : link.line)
            }
        }
    }

    /// The command `phones rename`.
    struct Rename: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rename",
            abstract: "Change the name of a phone on this computer."
        )

        @Argument(help: "The name or the ID of the phone.")
        var phone: String

        @Argument(help: "The new name.")
        var name: String

        func run() throws {
            let store = try PhonesCommand.store()
            let link = try PhonesCommand.link(to: phone, in: store)
            let name = PhoneName(name)
            var renamed = link
            renamed.name = name
            guard try store.freeName(for: renamed) == name else {
                throw CommandFailure("another phone has the name \(name.quoted); choose another", status: .usage)
            }
            guard try store.update(link, { $0.name = name }) else { throw CommandFailure(unknownPhone: phone) }
        }
    }

    /// The command `phones forget`.
    struct Forget: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "forget",
            abstract: "Remove the link of a phone from this computer.",
            discussion: "The phone still lists this computer until it is removed there, too: hybrid-auth links forget."
        )

        @Argument(help: "The name or the ID of the phone.")
        var phone: String

        func run() throws {
            let store = try PhonesCommand.store()
            guard try store.remove(PhonesCommand.link(to: phone, in: store)) else {
                throw CommandFailure(unknownPhone: phone)
            }
        }
    }
}

extension ShowQRCommand {
    /// Returns the store of linked phones; `nil` if the environment names no state directory.
    ///
    /// - Throws: ``CommandFailure`` if `--link` or `--phone` needs the store.
    func linkStore(_ report: ProgressReport) throws(CommandFailure) -> LinkStore? {
        do throws(CommandFailure) {
            return try LinkStore.ofUser { report.notify(ProgressState("link-skipped", $0)) }
        } catch {
            guard link || phone != nil else { return nil }
            throw error
        }
    }
}

extension StoredLink {
    /// ID, time of the last use, relay and name; date and reason of the link.
    fileprivate var line: String {
        let linked = "linked on \(UTCTime.text(created).prefix(10)), \(reason)"
        return "\(id)  \(UTCTime.text(lastUsed))  \(domain.host)  \(name.quoted)  \(linked)"
    }

    /// The reason to believe that the phone belongs to the user, in words.
    private var reason: String {
        guard evidence == .verified else { return "confirmed by you after the website" }
        return "verified by \(verifyingKey.map { "the SSH key \($0)" } ?? "a passkey created here")"
    }

    /// The same as an object.
    fileprivate var json: JSONText {
        let key = verifyingKey.map { [("key", JSONText.string($0))] } ?? []
        return .object(
            [
                ("id", .string(id)), ("name", .string(name.description)), ("relay", .string(domain.host)),
                ("linked", .string(UTCTime.text(created))), ("last_used", .string(UTCTime.text(lastUsed))),
                ("evidence", .string(evidence == .verified ? "verified" : "website")),
                ("link_code", .boolean(showedCode)),
            ] + key
        )
    }
}
