// SPDX-License-Identifier: Apache-2.0

internal import HybridPrimitives
internal import HybridTranslation

/// The app's side of `hybrid-auth passkeys session`: the state of the passkey pages.
///
/// Lines and ends of the helper come in; lines for the helper and effects for the window go out.
package struct PasskeySession: Sendable {
    /// The state of the session.
    package enum State: Equatable, Sendable {
        /// No passkeys are known; the reason is `nil` before the first session and after a normal end.
        case locked(LockReason?)
        /// The helper asks for the PIN.
        case unlocking
        /// The passkeys can be seen and changed.
        case open
    }

    /// A reason why the passkeys are not shown any more.
    package enum LockReason: Equatable, Sendable {
        /// Five minutes passed without a command.
        case idle
        /// The screen was locked, or the device suspended.
        case screenLocked
        /// The session could not begin or go on.
        case failed(AuthFailure)
    }

    /// An effect on the window.
    package enum Effect: Equatable, Sendable {
        /// A line must be written to the helper.
        case send(String)
        /// The list or a passkey has changed.
        case changed
        /// The details of the passkey with this ID are known.
        case shown(String)
        /// A passkey has other names now; undoing sends the earlier ones.
        case renamed(ListedPasskey, before: ListedPasskey)
        /// A passkey was deleted.
        case deleted(ListedPasskey)
        /// A page of the web must be opened.
        case open(String)
        /// A command had no effect.
        case refused(AuthFailure)
        /// The session ended; the passkeys must disappear from the screen.
        case locked
    }

    private enum Command: Equatable {
        case list
        case show
        case rename(before: ListedPasskey)
        case delete(ListedPasskey)
        case manage
    }

    /// The state.
    package private(set) var state = State.locked(nil)
    /// All passkeys; empty unless the session is open.
    package private(set) var passkeys: [ListedPasskey] = []
    /// True once the list has arrived.
    package private(set) var hasList = false
    /// The uses of passkeys whose details were requested, by ID, the newest first.
    package private(set) var histories: [String: [ListedUse]] = [:]
    private var pending: [Int: Command] = [:]
    private var last = 0
    private var failure: AuthFailure?

    /// Creates a locked session.
    package init() {}

    /// Returns the passkey with an ID.
    package func passkey(_ id: String) -> ListedPasskey? { passkeys.first { $0.id == id } }

    /// Begins a session, when the helper is started.
    package mutating func start() {
        self = PasskeySession()
        state = .unlocking
    }

    // MARK: - Commands

    /// Returns the line that requests the list again, after another command may have changed it; `nil` if there is no session.
    package mutating func list() -> String? {
        line(.list, [("do", .string("list")), ("hidden", .boolean(true))])
    }

    /// Returns the line that requests the details of a passkey; `nil` if there is no session.
    package mutating func show(_ id: String) -> String? {
        line(.show, [("do", .string("show")), ("passkey", .string(id))])
    }

    /// Returns the line that changes the names of a passkey; `nil` if there is no such passkey, or no such name.
    ///
    /// A second name that stays is left out: a site may have chosen a longer one than users can.
    package mutating func rename(_ id: String, name: String, displayName: String) -> String? {
        guard let passkey = passkey(id), passkey.isUsable, Self.isName(name) else { return nil }
        let staysSecond = displayName == passkey.userDisplayName
        guard staysSecond || displayName.utf8.count <= Self.nameLimit else { return nil }
        var members: [(String, JSONText)] = [
            ("do", .string("rename")), ("passkey", .string(id)), ("name", .string(name)),
        ]
        if !staysSecond { members.append(("displayName", .string(displayName))) }
        return line(.rename(before: passkey), members)
    }

    /// Returns the line that gives a passkey its earlier names again.
    package mutating func undoRename(to before: ListedPasskey) -> String? {
        rename(before.id, name: before.userName, displayName: before.userDisplayName)
    }

    /// Returns the line that deletes a passkey, after a question of the helper's; `nil` if there is no such passkey, or if
    /// the helper is asking already.
    package mutating func delete(_ id: String) -> String? {
        guard let passkey = passkey(id), !pending.values.contains(.delete(passkey)) else { return nil }
        return line(.delete(passkey), [("do", .string("delete")), ("passkey", .string(id))])
    }

    /// Returns the line that asks for the site's page about its passkeys; `nil` if there is no such passkey.
    package mutating func manage(_ id: String) -> String? {
        guard passkey(id)?.hasWebsite == true else { return nil }
        return line(.manage, [("do", .string("manage")), ("passkey", .string(id))])
    }

    /// Returns true for a name that the app lets the user choose.
    package static func isName(_ name: String) -> Bool {
        !name.shownAlone.isEmpty && name.utf8.count <= nameLimit
    }

    /// Maximum length of a name in bytes, so that a command with two names fits a line of the helper.
    private static let nameLimit = 1024
    /// Maximum number of commands without a result.
    private static let pendingLimit = 64

    private mutating func line(_ command: Command, _ members: [(String, JSONText)]) -> String? {
        guard state == .open, pending.count < Self.pendingLimit else { return nil }
        last += 1
        pending[last] = command
        return JSONText.object([("n", .number(last))] + members).description
    }

    // MARK: - The helper's output

    /// Applies a line of the helper's standard output.
    package mutating func receive(_ bytes: [UInt8]) -> [Effect] {
        guard let result = JSONText(helperLine: bytes) else { return state == .open ? fail(.malformedResult) : [] }
        if let end = result.member("end")?.text {
            return lock(end == "idle" ? .idle : end == "locked" ? .screenLocked : nil)
        }
        switch state {
        case .locked: return []
        case .unlocking:
            guard result.member("ready")?.integer() == 1 else { return fail(.malformedResult) }
            state = .open
            return line(.list, [("do", .string("list")), ("hidden", .boolean(true))]).map { [.changed, .send($0)] }
                ?? []
        case .open:
            guard let number = result.member("n")?.integer(Int.self), let command = pending.removeValue(forKey: number)
            else { return [] }
            if let error = result.member("error") {
                let failure = AuthFailure(error)
                return failure.isCancellation ? [.changed] : [.changed, .refused(failure)]
            }
            return apply(result, to: command)
        }
    }

    /// Applies a line of the helper's standard error.
    package mutating func receiveDiagnostic(_ line: [UInt8]) {
        if case .failure(let failure) = AuthEvent(line) { self.failure = failure }
    }

    /// Applies the end of the helper.
    package mutating func end(status: Int32?) -> [Effect] {
        if case .locked = state { return [] }
        // After a signal of this app's own, or a question that the user declined, there is nothing to explain.
        let failure = failure ?? (status == 0 ? nil : AuthFailure(status: status))
        let isExpected = failure.map { $0.isCancellation || $0.code == "declined" } ?? true
        return lock(isExpected ? nil : failure.map(LockReason.failed))
    }

    private mutating func apply(_ result: JSONText, to command: Command) -> [Effect] {
        if command == .list {
            guard let rows = result.member("passkeys")?.elements else { return fail(.malformedResult) }
            passkeys = rows.compactMap(ListedPasskey.init)
            hasList = true
            return [.changed]
        }
        if command == .manage {
            // The helper checks it, but a link opens another program.
            guard let page = result.shortText("manage", atMost: 2048), page.hasPrefix("https://") else { return [] }
            return [.open(page)]
        }
        guard let row = result.member("passkey"), let passkey = ListedPasskey(row) else { return [.changed] }
        switch command {
        case .list, .manage: return []
        case .show:
            replace(passkey)
            let uses = row.member("history")?.elements?.compactMap(ListedUse.init) ?? []
            histories[passkey.id] = uses.sorted { $0.time > $1.time }
            return [.shown(passkey.id)]
        case .rename(let before):
            // The result of a change has no time of the last use.
            replace(ListedPasskey(passkey, lastUsed: before.lastUsed))
            return [.changed, .renamed(passkey, before: before)]
        case .delete(let deleted):
            passkeys.removeAll { $0.id == deleted.id }
            histories[deleted.id] = nil
            return [.changed, .deleted(deleted)]
        }
    }

    private mutating func replace(_ passkey: ListedPasskey) {
        guard let index = passkeys.firstIndex(where: { $0.id == passkey.id }) else { return }
        passkeys[index] = passkey
    }

    private mutating func fail(_ failure: AuthFailure) -> [Effect] { lock(.failed(failure)) }

    private mutating func lock(_ reason: LockReason?) -> [Effect] {
        if case .locked = state { return [] }
        self = PasskeySession()
        state = .locked(reason)
        return [.locked]
    }
}

extension AuthFailure {
    /// The helper has written something other than a result.
    fileprivate static let malformedResult = AuthFailure(code: "malformed")
}

extension PasskeySession.LockReason {
    /// The reason in words.
    package var text: String {
        switch self {
        case .idle: tr("Locked after five minutes")
        case .screenLocked: tr("Locked together with the screen")
        case .failed(let failure): failure.sentence
        }
    }
}
