// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita
internal import HybridAskModel
internal import HybridTranslation
internal import HybridWidgets

/// The accounts, of which one tap chooses one; a single account is only shown.
///
/// Each is a radio button with its texts as content: the arrow keys choose, and screen readers say the position.
final class SheetAccountList {
    private let box: Element
    private var choices: [Element] = []

    init(_ box: Element) {
        self.box = box
    }

    /// The position of the chosen account; `nil` without a choice.
    var chosen: Int? { choices.firstIndex { $0.flag("active") } }

    /// Replaces the accounts; the first one is chosen.
    func show(_ accounts: [SheetAccount]) {
        box.removeChildren()
        choices = []
        for account in accounts {
            let texts = texts(account)
            box.add(accounts.count > 1 ? choice(account, texts) : texts)
        }
        choices.first?.set("active", true)
        box.isVisible = !accounts.isEmpty
    }

    /// Gives the first account the focus of the keyboard.
    func focus() { choices.first?.focus() }

    private func choice(_ account: SheetAccount, _ texts: Element) -> Element {
        let choice = Element(type: UInt(gtk_check_button_get_type()))
        choice.set("child", texts)
        choice.setAccessibleName(account.name)
        if let first = choices.first { choice.set("group", first) }
        choices.append(choice)
        return choice
    }

    /// Returns the name, the second name and the last use below each other.
    private func texts(_ account: SheetAccount) -> Element {
        let texts = Element(type: UInt(gtk_box_get_type()))
        texts.set("orientation", Int(GTK_ORIENTATION_VERTICAL.rawValue))
        texts.set("valign", Int(GTK_ALIGN_CENTER.rawValue))
        let used = account.lastUsed.flatMap(Self.day).map { tr("Last used {day}", ["day": $0]) }
        for (index, text) in [account.name, account.note, used].enumerated() {
            guard let text else { continue }
            let label = Element(owned: hybrid_new_name_label())
            label.set("label", text)
            if index > 0 {
                label.setClass("dim-label")
                label.setClass("caption")
            }
            texts.add(label)
        }
        return texts
    }

    private static func day(_ seconds: Int) -> String? {
        guard let text = hybrid_day(gint64(seconds)) else { return nil }
        defer { g_free(text) }
        return String(cString: text)
    }
}
