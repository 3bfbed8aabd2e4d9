// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita
internal import Glibc
internal import HybridAskModel
internal import HybridPrimitives
internal import HybridTranslation
internal import HybridWidgets

/// The entries of the sheet.
///
/// The buffer of a password entry is memory that is not swapped, and that GTK wipes.
final class SheetFields {
    private let list: Element
    private var rows: [Element] = []
    /// The buttons in the rows, whose handlers use them: a widget in a window does not keep its reference here.
    private var buttons: [Element] = []

    init(_ list: Element) {
        self.list = list
    }

    /// Replaces the entries.
    func show(_ fields: [SheetField]) {
        clear()
        list.removeChildren()
        buttons = []
        rows = fields.map(row)
        for (index, row) in rows.enumerated() {
            list.add(row)
            let next = rows.indices.contains(index + 1) ? rows[index + 1] : nil
            // Enter leads to the next entry, and from the last one to the button.
            row.set("activates-default", next == nil)
            if let next { row.on("entry-activated") { [unowned next] in next.focus() } }
        }
        list.isVisible = !fields.isEmpty
    }

    /// Returns copies of what was typed.
    func contents() -> [SecretBytes] {
        rows.map { row in
            guard let text = hybrid_entry_text(row.pointer) else { return SecretBytes(count: 0) }
            return SecretBytes(copying: UnsafeRawBufferPointer(start: text, count: strlen(text)))
        }
    }

    /// Forgets what was typed, from one entry on.
    func clear(from first: Int = 0) {
        for row in rows.dropFirst(first) { hybrid_entry_clear(row.pointer) }
    }

    /// Gives an entry the focus of the keyboard.
    func focus(_ index: Int) {
        if rows.indices.contains(index) { rows[index].focus() }
    }

    private func row(_ field: SheetField) -> Element {
        let type = field.isVisible ? adw_entry_row_get_type() : adw_password_entry_row_get_type()
        let row = Element(type: UInt(type))
        let name = Self.name(field)
        row.set("use-markup", false)
        row.set("title", name)
        hybrid_entry_set_name(row.pointer, name)
        hybrid_entry_forget(row.pointer)
        let hints = GTK_INPUT_HINT_PRIVATE.rawValue | GTK_INPUT_HINT_NO_SPELLCHECK.rawValue
        row.set("input-hints", Int(hints | GTK_INPUT_HINT_NO_EMOJI.rawValue))
        if field.isPIN { addKeyboardButton(to: row) }
        return row
    }

    /// Adds a button that changes the on-screen keyboard: digits at first, letters for PINs that have some.
    private func addKeyboardButton(to row: Element) {
        let button = Element(type: UInt(gtk_toggle_button_get_type()))
        row.set("input-purpose", Int(GTK_INPUT_PURPOSE_PIN.rawValue))
        button.set("icon-name", "input-keyboard-symbolic")
        button.set("tooltip-text", tr("Keyboard with Letters"))
        button.set("valign", Int(GTK_ALIGN_CENTER.rawValue))
        button.setClass("flat")
        button.on("toggled") { [unowned row, unowned button] in
            let purpose = button.flag("active") ? GTK_INPUT_PURPOSE_PASSWORD : GTK_INPUT_PURPOSE_PIN
            row.set("input-purpose", Int(purpose.rawValue))
            row.focus()
        }
        row.add(button, as: "suffix")
        buttons.append(button)
    }

    private static func name(_ field: SheetField) -> String {
        switch field {
        case .pin: tr("PIN")
        case .newPIN: tr("New PIN")
        case .repeatedPIN: tr("New PIN again")
        case .secret: tr("Passphrase or recovery code")
        case .newPassphrase: tr("New passphrase")
        case .repeatedPassphrase: tr("New passphrase again")
        case .group(let number): tr("Group {number}", ["number": "\(number)"])
        case .computerName: tr("Name of the computer (optional)")
        }
    }
}
