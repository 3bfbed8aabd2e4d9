// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita
internal import HybridPasskeysModel
internal import HybridTranslation
internal import HybridWidgets

/// The page that checks this device.
final class CheckPage {
    private let window: AppWindow
    private let tree: WidgetTree
    private var report = HealthReport()
    private var process: AuthProcess?

    /// Creates the page in a window.
    init(in window: AppWindow, _ tree: WidgetTree) {
        (self.window, self.tree) = (window, tree)
        window.add(.check, tree["check"])
        window.actions.add("check") { [unowned self] in open() }
        window.actions.add("copy-report") { [unowned self] in
            hybrid_write_clipboard(window.element.pointer, report.text)
            window.toast(tr("The report is in the clipboard"))
        }
        window.actions.add("bluetooth-settings") { [unowned self] in openSettings() }
    }

    /// Stops the check when the page disappears.
    func pageChanged() {
        if !window.isOnScreen(.check) { process?.interrupt() }
    }

    private func open() {
        window.open(.check, title: tr("Check This Device"))
        guard process == nil else { return }
        report.start()
        tree["findings"].removeChildren()
        var handlers = AuthProcess.Handlers()
        handlers.diagnostic = { [weak self] line in
            guard let self, let event = AuthEvent(line), report.receive(event), let last = report.findings.last
            else { return }
            tree["findings"].add(row(last))
            show()
        }
        handlers.end = { [weak self] status, _ in
            guard let self else { return }
            process = nil
            report.end(status: status)
            show()
            tree["verdict"].announce(report.verdict)
        }
        do throws(AuthFailure) {
            process = try AuthProcess(.checkDevice, for: nil, handlers)
        } catch {
            report.end(status: nil)
            window.report(error)
        }
        show()
    }

    private func show() {
        tree["verdict"].show(report.verdict)
        tree["check-spinner"].set("spinning", report.isRunning)
        tree["check-spinner"].isVisible = report.isRunning
        tree["check-buttons"].isVisible = !report.isRunning
        tree["findings"].isVisible = !report.findings.isEmpty
    }

    private func row(_ finding: HealthFinding) -> Element {
        let row = Element(type: UInt(adw_expander_row_get_type()))
        row.set("use-markup", false)
        row.set("title", finding.title)
        row.set("subtitle", finding.sentence)
        row.set("subtitle-lines", 0)
        let symbol = ListRow.icon(finding.outcome.icon, class: finding.outcome.style)
        symbol.setAccessibleName(finding.outcome.name)
        row.add(symbol, as: "prefix")
        if let fix = finding.fix { row.add(ListRow.button(fix.label, action: fix.action), as: "suffix") }
        if !finding.technical.isEmpty {
            let detail = ListRow.action(finding.technical)
            detail.setClass("caption")
            row.add(detail)
        } else {
            row.set("enable-expansion", false)
        }
        return row
    }

    private func openSettings() {
        for program in [["gnome-control-center", "bluetooth"], ["systemsettings", "kcm_bluetooth"]] {
            if (try? AuthProcess(program, for: nil, AuthProcess.Handlers())) != nil { return }
        }
        window.toast(tr("Open the settings of this device, and turn Bluetooth on there"))
    }
}

extension HealthFinding.Fix {
    /// The action of the button.
    fileprivate var action: String {
        switch self {
        case .bluetoothSettings: "ui.bluetooth-settings"
        case .chooseRelay: "ui.choose-relay"
        case .createVault: "ui.reload"
        case .vaultPage: "ui.vault"
        case .computersPage: "ui.computers"
        case .turnOnReachable: "ui.turn-on-reachable"
        }
    }
}

extension HealthFinding.Outcome {
    fileprivate var icon: String {
        switch self {
        case .fine: "object-select-symbolic"
        case .warning: "dialog-warning-symbolic"
        case .failed: "process-stop-symbolic"
        case .skipped: "media-playback-pause-symbolic"
        }
    }

    fileprivate var style: String? {
        switch self {
        case .fine: "success"
        case .warning: "warning"
        case .failed: "error"
        case .skipped: "dim-label"
        }
    }

    fileprivate var name: String {
        switch self {
        case .fine: tr("Works")
        case .warning: tr("Warning")
        case .failed: tr("Problem")
        case .skipped: tr("Not checked")
        }
    }
}
