// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita

/// An object of GTK, usually a widget, which lives at least as long as this reference.
///
/// Properties and signals have the names of GTK's documentation. GLib checks names and types, and reports a wrong one on
/// standard error. All of it happens on the thread of the main loop.
package final class Element {
    /// The object, for functions of GTK that have no counterpart here.
    package let pointer: UnsafeMutableRawPointer

    /// Creates a reference to an object.
    package init(_ object: UnsafeMutableRawPointer) {
        pointer = object
        g_object_ref_sink(object)
    }

    /// Creates an object, such as `Element(type: gtk_label_get_type())`.
    package init(type: UInt) {
        pointer = hybrid_new(GType(type))
    }

    /// Creates a reference to an object from one that the caller owns.
    package init(owned object: UnsafeMutableRawPointer) { pointer = object }

    deinit { g_object_unref(pointer) }

    /// Sets a property that is a text.
    package func set(_ property: String, _ value: String?) { hybrid_set_text(pointer, property, value) }

    /// Sets a property that is true or false.
    package func set(_ property: String, _ value: Bool) { hybrid_set_integer(pointer, property, value ? 1 : 0) }

    /// Sets a property that is an integer, an enumeration or flags.
    package func set(_ property: String, _ value: Int) { hybrid_set_integer(pointer, property, CInt(clamping: value)) }

    /// Sets a property that is a number.
    package func set(_ property: String, _ value: Double) { hybrid_set_number(pointer, property, value) }

    /// Sets a property that is an object.
    package func set(_ property: String, _ value: Element?) { hybrid_set_object(pointer, property, value?.pointer) }

    /// Returns a property that is a text; not for secrets, because copies remain.
    package func text(_ property: String) -> String {
        guard let copy = hybrid_get_text(pointer, property) else { return "" }
        defer { g_free(copy) }
        return String(cString: copy)
    }

    /// Returns a property that is true or false.
    package func flag(_ property: String) -> Bool { hybrid_get_integer(pointer, property) != 0 }

    /// Returns a property that is an integer, an enumeration or flags.
    package func integer(_ property: String) -> Int { Int(hybrid_get_integer(pointer, property)) }

    /// Returns a property that is a number.
    package func number(_ property: String) -> Double { hybrid_get_number(pointer, property) }

    /// Returns a property that is an object.
    package func element(_ property: String) -> Element? {
        hybrid_get_object(pointer, property).map { Element(owned: $0) }
    }

    /// True for a widget that is to be shown.
    package var isVisible: Bool {
        get { flag("visible") }
        set { set("visible", newValue) }
    }

    /// Shows a text in a label, or hides the label; an unchanged text is not set again, or a screen reader would read it
    /// again.
    package func show(_ text: String?) {
        let text = text ?? ""
        if self.text("label") != text {
            set("label", text)
            // Labels of other roles, such as alerts, are not named by their text.
            setAccessibleName(text)
        }
        isVisible = !text.isEmpty
    }

    /// Adds a child to any container, as the element `child` of an XML file does.
    ///
    /// - Parameters:
    ///   - child: The child.
    ///   - kind: The type of the XML element, such as `suffix` for a row; `nil` for an ordinary child.
    package func add(_ child: Element, as kind: String? = nil) { hybrid_add_child(pointer, child.pointer, kind) }

    /// Removes all children of a box or of a list of rows.
    package func removeChildren() { hybrid_remove_children(pointer) }

    /// Adds or removes a style class.
    package func setClass(_ name: String, _ isSet: Bool = true) {
        isSet ? hybrid_add_class(pointer, name) : hybrid_remove_class(pointer, name)
    }

    /// Gives a widget the focus of the keyboard; returns false if it can't have it.
    @discardableResult
    package func focus() -> Bool { hybrid_focus(pointer) != 0 }

    /// Sets the name of a widget for screen readers, where its visible text is not enough.
    package func setAccessibleName(_ name: String) { hybrid_set_accessible_label(pointer, name) }

    /// Sets the description of a widget for screen readers.
    package func setAccessibleDescription(_ text: String) { hybrid_set_accessible_description(pointer, text) }

    /// Lets screen readers say a change that is not the user's own action.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - isUrgent: True if it interrupts what is being said.
    package func announce(_ text: String, isUrgent: Bool = false) { hybrid_announce(pointer, text, isUrgent ? 1 : 0) }

    /// Shows a window.
    package func present() { hybrid_present(pointer) }
}
