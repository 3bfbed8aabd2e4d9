// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita
internal import HybridPasskeysModel
internal import HybridTranslation
internal import HybridWidgets

/// The list of linked computers, the page of one, and the switch of the service that waits for them.
final class ComputerPages {
    private let window: AppWindow
    private let tree = WidgetTree(PackageResources.computers_ui)
    private var computers: [ListedComputer] = []
    private var shown: String?
    private var isSettingSwitch = false

    /// Creates the pages in a window.
    init(in window: AppWindow) {
        self.window = window
        window.set("computers", tree["computers-page"])
        window.add(.computer, tree["computer"])
        window.actions.add("open-computer", withText: { [unowned self] in open($0) })
        window.actions.add("unmute") { [unowned self] in change { .unmuteComputer(id: $0.id) } }
        window.actions.add("forget") { [unowned self] in forget() }
        window.actions.add("turn-on-reachable") { [unowned self] in tree["reachable"].set("active", true) }
        tree["computer-name"].on("apply") { [unowned self] in rename() }
        tree["reachable"].on("notify::active") { [unowned self] in
            if !isSettingSwitch { setReachable(tree["reachable"].flag("active")) }
        }
        showList()
    }

    /// Reads the list and the state of the service again.
    func reload() {
        AuthProcess.run(.listComputers, for: nil) { [weak self] result in
            guard let self else { return }
            guard case .success(let line) = result, let list = [ListedComputer](linksOutput: line) else {
                if case .failure(let failure) = result { window.report(failure) }
                return
            }
            computers = list
            showList()
            if shown != nil { showDetails() }
        }
        showReachable()
    }

    private func showList() {
        let list = tree["computers-list"]
        list.removeChildren()
        for computer in computers {
            let row = ListRow.link(
                computer.title,
                computer.summary(window.clock),
                action: "ui.open-computer",
                target: computer.id
            )
            row.add(ListRow.icon("computer-symbolic"), as: "prefix")
            list.add(row)
        }
        list.isVisible = !computers.isEmpty
        tree["no-computers"].isVisible = computers.isEmpty
    }

    // MARK: - One computer

    private var current: ListedComputer? { computers.first { $0.id == shown } }

    private func open(_ id: String) {
        shown = id
        guard let computer = current else { return }
        fillName(computer)
        showDetails()
        window.open(.computer, title: computer.title)
    }

    private func fillName(_ computer: ListedComputer) {
        tree["computer-name"].set("show-apply-button", false)
        tree["computer-name"].set("text", computer.name.editable)
        tree["computer-name"].set("show-apply-button", true)
    }

    private func showDetails() {
        guard let computer = current else { return window.leave(.computer) }
        tree["computer-state"].show(computer.summary(window.clock))
        tree["computer-names"].isVisible = computer.canBeChanged
        tree["unmute"].isVisible = computer.canBeUnmuted
        tree["forget"].isVisible = computer.canBeChanged
        tree["computer-facts"].removeChildren()
        for fact in computer.facts(window.clock) {
            tree["computer-facts"].add(ListRow.property(fact.title, fact.value))
        }
    }

    private func rename() {
        guard let computer = current else { return }
        let name = tree["computer-name"].text("text")
        guard PasskeySession.isName(name) else {
            fillName(computer)
            return window.toast(tr("A name needs letters that can be seen"))
        }
        change { .renameComputer(id: $0.id, name: name) }
    }

    private func forget() {
        guard let computer = current else { return }
        window.confirm(
            tr("Forget {name}?", ["name": computer.title]),
            tr("It can't ask this device any more. To link it again, it shows a new code."),
            button: tr("Forget")
        ) { [weak self] in
            self?.window.leave(.computer)
            self?.change { .forgetComputer(id: $0.id) }
            self?.shown = nil
        }
    }

    private func change(_ command: (ListedComputer) -> AuthCommand) {
        guard let computer = current else { return }
        AuthProcess.run(command(computer), for: nil) { [weak self] result in
            if case .failure(let failure) = result { self?.window.report(failure) }
            self?.reload()
        }
    }

    // MARK: - The service

    private static let unit = "hybrid-auth-listen.service"

    private func showReachable() {
        run(["is-active", "--quiet", Self.unit]) { [weak self] isActive in self?.setSwitch(isActive) }
    }

    private func setReachable(_ isOn: Bool) {
        run([isOn ? "enable" : "disable", "--now", Self.unit]) { [weak self] isDone in
            guard let self, !isDone else { return }
            setSwitch(!isOn)
            window.toast(tr("The service for linked computers can't be changed"))
        }
    }

    private func setSwitch(_ isOn: Bool) {
        isSettingSwitch = true
        tree["reachable"].set("active", isOn)
        isSettingSwitch = false
    }

    /// Runs `systemctl` for the user's services.
    private func run(_ arguments: [String], _ done: @escaping (Bool) -> Void) {
        var handlers = AuthProcess.Handlers()
        handlers.end = { status, _ in done(status == 0) }
        do throws(AuthFailure) {
            _ = try AuthProcess(["systemctl", "--user", "--no-ask-password"] + arguments, handlers)
        } catch {
            done(false)
        }
    }
}
