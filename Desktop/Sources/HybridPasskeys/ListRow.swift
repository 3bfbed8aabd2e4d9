// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita
internal import HybridWidgets

/// Rows of lists, whose texts are plain text, never markup.
enum ListRow {
    /// Returns a row with a title and a second line.
    static func action(_ title: String, _ subtitle: String = "") -> Element {
        let row = Element(type: UInt(adw_action_row_get_type()))
        row.set("use-markup", false)
        row.set("title", title)
        row.set("subtitle", subtitle)
        row.set("title-lines", 0)
        row.set("subtitle-lines", 0)
        return row
    }

    /// Returns a row with a heading and a value.
    static func property(_ title: String, _ value: String) -> Element {
        let row = action(title, value)
        row.setClass("property")
        row.set("subtitle-selectable", true)
        return row
    }

    /// Returns a row that leads to a page.
    static func link(_ title: String, _ subtitle: String, action name: String, target: String? = nil) -> Element {
        let row = action(title, subtitle)
        row.set("activatable", true)
        hybrid_set_action(row.pointer, name, target)
        row.add(icon("go-next-symbolic"), as: "suffix")
        return row
    }

    /// Returns a picture of a symbol that says nothing on its own.
    static func icon(_ name: String, class style: String? = nil) -> Element {
        let icon = Element(type: UInt(gtk_image_get_type()))
        icon.set("icon-name", name)
        if let style { icon.setClass(style) }
        return icon
    }

    /// Returns a circle with the initials of a site.
    static func avatar(_ text: String) -> Element {
        let avatar = Element(type: UInt(adw_avatar_get_type()))
        avatar.set("size", 32)
        avatar.set("text", text)
        avatar.set("show-initials", true)
        return avatar
    }

    /// Returns a button with a label that names an action.
    static func button(_ label: String, action name: String) -> Element {
        let button = Element(type: UInt(gtk_button_get_type()))
        button.set("label", label)
        button.set("valign", Int(GTK_ALIGN_CENTER.rawValue))
        hybrid_set_action(button.pointer, name, nil)
        return button
    }

    /// Returns a heading.
    static func heading(_ text: String) -> Element {
        let label = Element(type: UInt(gtk_label_get_type()))
        label.set("label", text)
        label.set("xalign", 0.0)
        label.set("wrap", true)
        label.set("wrap-mode", Int(PANGO_WRAP_WORD_CHAR.rawValue))
        hybrid_forbid_hyphens(label.pointer)
        label.set("margin-top", 12)
        label.setClass("heading")
        return label
    }

    /// Returns an empty list in a box.
    static func list() -> Element {
        let list = Element(type: UInt(gtk_list_box_get_type()))
        list.set("selection-mode", Int(GTK_SELECTION_NONE.rawValue))
        list.setClass("boxed-list")
        return list
    }
}
