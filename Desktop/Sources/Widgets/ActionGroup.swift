// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita

/// The actions of a window, which buttons, rows and shortcuts name, such as `ui.open`.
///
/// The group is inserted into a widget. Actions of the application or of an application's window would be exported on
/// the session bus, where any program could activate them.
package final class ActionGroup {
    private let group = Element(type: UInt(g_simple_action_group_get_type()))
    private var actions: [String: Element] = [:]

    /// Inserts an empty group into a widget; the widgets below can name its actions.
    ///
    /// - Parameters:
    ///   - prefix: The prefix of the names.
    ///   - widget: The widget, usually a window.
    package init(_ prefix: String, of widget: Element) {
        hybrid_insert_actions(widget.pointer, prefix, group.pointer)
    }

    /// Adds an action without parameter.
    package func add(_ name: String, _ body: @escaping () -> Void) { add(name, nil) { _ in body() } }

    /// Adds an action whose parameter is a text, such as `ui.open::f738`.
    package func add(_ name: String, withText body: @escaping (String) -> Void) {
        add(name, "s") { arguments in
            if let text = arguments.text(0) { body(text) }
        }
    }

    /// Adds an action whose parameter is an integer (`action-target` is a variant such as `3`).
    package func add(_ name: String, withInteger body: @escaping (Int) -> Void) {
        add(name, "i") { body($0.integer(0)) }
    }

    /// Allows or forbids an action; its buttons and rows become insensitive.
    package func setEnabled(_ name: String, _ isEnabled: Bool) {
        guard let action = actions[name] else { preconditionFailure("no action \(name)") }
        hybrid_enable_action(action.pointer, isEnabled ? 1 : 0)
    }

    private func add(_ name: String, _ parameter: String?, _ body: @escaping (SignalArguments) -> Void) {
        guard let object = hybrid_new_action(name, parameter) else { preconditionFailure("no action \(name)") }
        let action = Element(owned: object)
        action.on("activate", with: body)
        hybrid_add_action(group.pointer, action.pointer)
        actions[name] = action
    }
}
