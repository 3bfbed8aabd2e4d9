// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita
internal import HybridAskModel
internal import HybridPrimitives
internal import HybridTranslation
internal import HybridWidgets

/// The window of the sheet; it only shows a `SheetView` and reports buttons and keys.
///
/// On a phone, the window manager makes it as large as the screen, and the sheet is at its bottom.
final class SheetWindow {
    /// Called when the user agrees, with the content of each field and the chosen account.
    var agree: ([SecretBytes], Int?) -> Void = { _, _ in }
    /// Called when the user declines, presses Escape, or closes the window.
    var decline: () -> Void = {}
    /// Called when the user wants to see the recovery code again.
    var goBack: () -> Void = {}
    /// Called when the window has appeared on the screen.
    var appeared: () -> Void = {}

    /// Width of the window on a laptop.
    private static let width: CInt = 440
    /// Width of a screen on which the window is maximized, even if the window manager does not do so.
    private static let phoneWidth: CInt = 500

    private let tree = WidgetTree(PackageResources.sheet_ui)
    private let window: Element
    private let actions: ActionGroup
    private let fields: SheetFields
    private let accounts: SheetAccountList
    private var shown: SheetView?

    /// Creates the window without showing it.
    init() {
        Toolkit.addStyle(PackageResources.sheet_css)
        window = tree["window"]
        actions = ActionGroup("ui", of: window)
        fields = SheetFields(tree["fields"])
        accounts = SheetAccountList(tree["accounts"])
        actions.add("decline") { [unowned self] in decline() }
        actions.add("agree") { [unowned self] in agree(fields.contents(), accounts.chosen) }
        actions.add("back") { [unowned self] in goBack() }
        window.on("map") { [unowned self] in appeared() }
        // The window closes when the program ends.
        window.on("close-request") { [unowned self] _ in
            decline()
            return true
        }
        for change in ["apply", "unapply"] { tree["narrow"].on(change) { [unowned self] in fit() } }
        if hybrid_monitor_width() < Self.phoneWidth { hybrid_maximize(window.pointer) }
    }

    /// Hides the window.
    func hide() {
        fields.clear()
        shown = nil
        if window.isVisible { window.isVisible = false }
    }

    /// Shows a view, and the window if it is not on the screen yet.
    func show(_ view: SheetView, at now: ContinuousClock.Instant) {
        defer { showTime(view, at: now) }
        let isHidden = !window.isVisible
        guard isHidden || shown?.stage != view.stage || shown?.number != view.number else { return }
        let before = shown
        shown = view
        if case .question(let content) = view.stage {
            show(content, isNew: isNew(content, view, before))
        } else {
            showState(view.stage)
        }
        fit()
        if isHidden { window.present() }
    }

    private func fit() { hybrid_fit_height(window.pointer, tree["sheet"].pointer, Self.width) }

    /// Shows the remaining time, and lets the user agree once it is time.
    func showTime(_ view: SheetView, at now: ContinuousClock.Instant) {
        tree["remaining"].show(view.remaining(at: now))
        actions.setEnabled("agree", view.isAgreeable(at: now))
    }

    /// Returns true unless only a note or a problem has changed.
    private func isNew(_ content: SheetContent, _ view: SheetView, _ before: SheetView?) -> Bool {
        guard let before, before.number == view.number, case .question(let old) = before.stage else { return true }
        return old.fields != content.fields || old.question != content.question
    }

    private func show(_ content: SheetContent, isNew: Bool) {
        tree["question-box"].isVisible = true
        tree["state-box"].isVisible = false
        tree["spinner"].set("spinning", false)
        set("warnings", content.warnings)
        set("heading", content.heading.map { [$0] } ?? [])
        set("subject", content.subject)
        set("question", [content.question])
        set("details", content.details)
        set("source", content.source)
        set("problem", content.problem.map { [$0] } ?? [])
        set("note", content.note.map { [$0] } ?? [])
        tree["back"].isVisible = content.offersBack
        showButtons(content)
        if isNew {
            forgetFocus()
            fields.show(content.fields)
            accounts.show(content.accounts)
            showGroups(content.groups)
            window.set("title", content.heading ?? content.question)
        }
        if let problem = content.problem {
            fields.clear(from: content.wrongField)
            window.announce(problem, isUrgent: true)
        } else if !isNew, let note = content.note {
            window.announce(note)
        }
        if isNew || content.problem != nil { giveFocus(content) }
    }

    private func showState(_ stage: SheetStage) {
        fields.clear()
        forgetFocus()
        tree["question-box"].isVisible = false
        tree["state-box"].isVisible = true
        let (lines, icon, isOver): ([String], String?, Bool) =
            switch stage {
            case .waiting(let text): ([text], nil, false)
            case .success(let text): ([text], "object-select-symbolic", false)
            case .failure(let lines): (lines, "dialog-warning-symbolic", true)
            case .question: ([], nil, false)
            }
        tree["spinner"].isVisible = icon == nil
        tree["spinner"].set("spinning", icon == nil)
        tree["icon"].isVisible = icon != nil
        if let icon { tree["icon"].set("icon-name", icon) }
        set("state", Array(lines.prefix(1)))
        set("remedy", Array(lines.dropFirst()))
        tree["agree"].isVisible = false
        tree["decline"].isVisible = true
        // It closes the sheet; what the user has agreed to is not taken back.
        tree["decline-label"].set("label", tr("Close"))
        hybrid_set_default_widget(window.pointer, isOver ? tree["decline"].pointer : nil)
        if isOver { tree["decline"].focus() } else { forgetFocus() }
        window.announce(lines.joined(separator: " "), isUrgent: isOver)
    }

    private func showButtons(_ content: SheetContent) {
        let button = tree["agree"]
        button.isVisible = true
        tree["agree-label"].set("label", content.agree)
        button.setClass("suggested-action", !content.isDestructive)
        button.setClass("destructive-action", content.isDestructive)
        tree["decline"].isVisible = content.decline != nil
        tree["decline-label"].set("label", content.decline ?? "")
        // Enter must not destroy anything.
        hybrid_set_default_widget(window.pointer, content.isDestructive ? nil : button.pointer)
    }

    private func showGroups(_ groups: [String]) {
        let box = tree["groups"]
        box.removeChildren()
        for (index, group) in groups.enumerated() {
            let label = Element(type: UInt(gtk_label_get_type()))
            label.set("label", "\(index + 1)  \(group)")
            label.setClass("monospace")
            label.setClass("group")
            let cell = Element(type: UInt(gtk_flow_box_child_get_type()))
            cell.set("child", label)
            // Only what can be used is reached by Tab.
            cell.set("focusable", false)
            box.add(cell)
        }
        box.isVisible = !groups.isEmpty
    }

    private func giveFocus(_ content: SheetContent) {
        if let first = content.fields.first, !first.isOptional || content.problem != nil {
            fields.focus(content.problem == nil ? 0 : content.wrongField)
        } else if content.accounts.count > 1 {
            accounts.focus()
        } else {
            forgetFocus()
        }
    }

    /// Takes the focus from all controls, also before the one that has it goes: otherwise, GTK would give it to the first
    /// button, which declines.
    private func forgetFocus() { hybrid_forget_focus(window.pointer) }

    /// Sets the lines of a label, which is hidden without lines.
    private func set(_ label: String, _ lines: [String]) { tree[label].show(lines.joined(separator: "\n")) }
}
