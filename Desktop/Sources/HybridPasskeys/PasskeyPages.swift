// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita
internal import HybridPasskeysModel
internal import HybridTranslation
internal import HybridWidgets

/// The list of passkeys, and the page of one.
final class PasskeyPages {
    /// Maximum number of rows, because each is a widget; a search finds the others.
    private static let maximumRows = 300

    private let window: AppWindow
    private let tree = WidgetTree(PackageResources.passkeys_ui)
    private var session = PasskeySession()
    private var process: AuthProcess?
    private var shown: String?
    /// Called with the ID of a passkey that is to be given to another device.
    var onGive: (String) -> Void = { _ in }

    /// Creates the pages in a window.
    init(in window: AppWindow) {
        self.window = window
        window.set("passkeys", tree["passkeys-page"])
        window.add(.passkey, tree["details"])
        window.actions.add("unlock") { [unowned self] in unlock() }
        window.actions.add("lock") { [unowned self] in lock() }
        window.actions.add("open-passkey", withText: { [unowned self] in open($0) })
        window.actions.add("give") { [unowned self] in if let shown { onGive(shown) } }
        window.actions.add("delete") { [unowned self] in delete() }
        window.actions.add("manage") { [unowned self] in if let shown { send(session.manage(shown)) } }
        tree["search"].on("search-changed") { [unowned self] in showList() }
        for row in ["name", "display-name"] {
            tree[row].on("apply") { [unowned self] in rename() }
        }
        show()
    }

    /// Shows or hides the banner about what the vault lacks.
    func show(_ advice: VaultOverview.Advice?) {
        let banner = tree["advice"]
        if let advice {
            banner.set("title", advice.text)
            banner.set("action-name", advice == .choosePIN ? "ui.forgotten-pin" : "ui.recovery-code")
        }
        banner.set("revealed", advice != nil)
    }

    /// Reads the list again, if it is shown.
    func reload() { send(session.list()) }

    /// Ends the session.
    func lock() {
        process?.closeInput()
        process?.interrupt()
    }

    // MARK: - The session

    private func unlock() {
        guard process == nil else { return }
        session.start()
        var handlers = AuthProcess.Handlers()
        handlers.output = { [weak self] line in
            guard let self else { return }
            apply(session.receive(line))
        }
        handlers.diagnostic = { [weak self] in self?.session.receiveDiagnostic($0) }
        handlers.end = { [weak self] status, _ in
            guard let self else { return }
            process = nil
            apply(session.end(status: status))
        }
        do throws(AuthFailure) {
            process = try AuthProcess(.session, for: window.element, handlers)
        } catch {
            session.receiveDiagnostic([])
            apply(session.end(status: nil))
            window.report(error)
        }
        show()
    }

    private func send(_ line: String?) {
        guard let line else { return }
        // A helper that does not read ends soon.
        process?.write(line)
    }

    private func apply(_ effects: [PasskeySession.Effect]) {
        for effect in effects {
            switch effect {
            case .send(let line): send(line)
            case .changed: show()
            case .shown(let id) where id == shown: showDetails()
            case .shown: break
            case .renamed(let passkey, let before):
                let text = tr("Renamed to {name}", ["name": passkey.accountText])
                window.toast(text, button: (tr("Undo"), { [weak self] in self?.undo(before) }))
            case .deleted(let passkey):
                if passkey.id == shown { window.leave(.passkey) }
                window.toast(tr("The passkey of {site} is deleted", ["site": passkey.siteText]))
            case .open(let page): hybrid_launch_uri(window.element.pointer, page)
            case .refused(let failure): window.report(failure)
            case .locked:
                // A helper that wrote something other than results still has the vault open.
                process?.closeInput()
                window.leave(.passkey)
                shown = nil
                tree["search"].set("text", "")
                show()
            }
        }
    }

    // MARK: - The list

    private func show() {
        switch session.state {
        case .locked(let reason):
            tree["groups"].removeChildren()
            let advice = reason?.text ?? tr("Scan the code that another device shows.")
            tree["locked"].set("description", Markup.escaped(advice))
            tree["passkeys-states"].set("visible-child-name", "locked")
        case .unlocking: tree["passkeys-states"].set("visible-child-name", "unlocking")
        case .open where !session.hasList: break
        case .open:
            showList()
            tree["passkeys-states"].set("visible-child-name", session.passkeys.isEmpty ? "empty" : "list")
            if shown != nil { showDetails() }
        }
        window.actions.setEnabled("lock", session.state == .open || session.state == .unlocking)
    }

    private func showList() {
        let groups = session.passkeys.grouped(search: tree["search"].text("text"))
        let box = tree["groups"]
        box.removeChildren()
        var count = 0
        for group in groups where count < Self.maximumRows {
            box.add(ListRow.heading(group.title))
            let list = ListRow.list()
            for passkey in group.passkeys.prefix(Self.maximumRows - count) {
                let row = ListRow.link(
                    passkey.accountText,
                    passkey.summary(window.clock),
                    action: "ui.open-passkey",
                    target: passkey.id
                )
                // Broken into lines, a name would get hyphens that are not in it; its page has it in full.
                row.set("title-lines", 1)
                row.add(ListRow.avatar(group.title), as: "prefix")
                list.add(row)
            }
            count += group.passkeys.count
            box.add(list)
        }
        if groups.reduce(0, { $0 + $1.passkeys.count }) > Self.maximumRows {
            box.add(ListRow.heading(tr("Search to see further passkeys")))
        }
        tree["nothing-found"].isVisible = groups.isEmpty
    }

    // MARK: - One passkey

    private func open(_ id: String) {
        guard let passkey = session.passkey(id) else { return }
        shown = id
        send(session.show(id))
        fillNames(passkey)
        showDetails()
        window.open(.passkey, title: passkey.siteText)
    }

    private func fillNames(_ passkey: ListedPasskey) {
        // Setting the text in a row offers to apply it, unless the button is hidden meanwhile.
        for (row, name) in [("name", passkey.userName), ("display-name", passkey.userDisplayName)] {
            tree[row].set("show-apply-button", false)
            tree[row].set("text", name.editable)
            tree[row].set("show-apply-button", true)
        }
    }

    private func showDetails() {
        guard let id = shown, let passkey = session.passkey(id) else { return }
        let clock = window.clock
        tree["avatar"].set("text", passkey.siteText)
        tree["site"].show(passkey.siteText)
        tree["names"].isVisible = passkey.isUsable
        tree["give"].isVisible = passkey.canBeGiven
        let facts = tree["facts"]
        facts.removeChildren()
        if let kind = passkey.kindText { facts.add(ListRow.property(tr("Kind"), kind)) }
        if passkey.isHidden {
            facts.add(ListRow.property(tr("State"), tr("Hidden, because the site does not accept it any more")))
        }
        if let created = passkey.created { facts.add(ListRow.property(tr("Created"), clock.day(created))) }
        facts.add(ListRow.property(tr("Last used"), passkey.lastUsed.map(clock.dayAndTime) ?? tr("Never")))
        if passkey.hasWebsite { facts.add(ListRow.link(tr("Manage at the Site"), "", action: "ui.manage")) }
        let uses = session.histories[id] ?? []
        tree["history-title"].isVisible = !uses.isEmpty
        tree["history"].isVisible = !uses.isEmpty
        tree["history"].removeChildren()
        for use in uses.prefix(100) {
            let row = ListRow.action(use.operationText, clock.moment(use.time))
            let outcome = Element(type: UInt(gtk_label_get_type()))
            outcome.set("label", use.outcomeText)
            outcome.setClass(use.isDone ? "success" : "dim-label")
            row.add(outcome, as: "suffix")
            tree["history"].add(row)
        }
    }

    private func rename() {
        guard let id = shown, let passkey = session.passkey(id) else { return }
        let name = tree["name"].text("text")
        let displayName = tree["display-name"].text("text")
        guard name != passkey.userName.editable || displayName != passkey.userDisplayName.editable else { return }
        guard PasskeySession.isName(name) else {
            fillNames(passkey)
            return window.toast(tr("A name needs letters that can be seen"))
        }
        // A name that the user has not touched stays as the site sent it.
        let sentName = name == passkey.userName.editable ? passkey.userName : name
        let isSame = displayName == passkey.userDisplayName.editable
        send(session.rename(id, name: sentName, displayName: isSame ? passkey.userDisplayName : displayName))
    }

    private func undo(_ before: ListedPasskey) {
        send(session.undoRename(to: before))
        if before.id == shown { fillNames(before) }
    }

    private func delete() {
        guard let shown else { return }
        send(session.delete(shown))
    }
}
