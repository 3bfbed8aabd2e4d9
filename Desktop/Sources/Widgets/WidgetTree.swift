// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita
internal import HybridTranslation

/// The widgets of a `.ui` file that is embedded in the program.
package final class WidgetTree {
    private let builder: OpaquePointer

    /// Creates the widgets of a file; an invalid one is an error of the program and ends it.
    ///
    /// - Parameter xml: The file, such as `PackageResources.window_ui`.
    package init(_ xml: [UInt8]) {
        guard let builder = gtk_builder_new() else { preconditionFailure("no GtkBuilder") }
        self.builder = builder
        gtk_builder_set_translation_domain(builder, Translation.domain)
        var error: UnsafeMutablePointer<GError>?
        let isRead = String(decoding: xml, as: UTF8.self).withCString {
            gtk_builder_add_from_string(builder, $0, -1, &error) != 0
        }
        guard !isRead else { return }
        let reason = error.map { String(cString: $0.pointee.message) } ?? ""
        preconditionFailure("an embedded file can't be used: \(reason)")
    }

    deinit { g_object_unref(gpointer(builder)) }

    /// The object with an ID, which must exist.
    package subscript(id: String) -> Element {
        guard let object = gtk_builder_get_object(builder, id) else { preconditionFailure("no widget \(id)") }
        return Element(gpointer(object))
    }
}
