// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita
internal import HybridProgram
internal import HybridTranslation
internal import HybridWidgets

/// The dialog about this program.
enum About {
    /// Shows the dialog.
    static func show(on window: Element) {
        let dialog = Element(type: UInt(adw_about_dialog_get_type()))
        dialog.set("application-name", tr("Passkeys"))
        dialog.set("application-icon", Toolkit.applicationID)
        dialog.set("version", ProductVersion.text)
        dialog.set("developer-name", tr("The hybrid developers"))
        dialog.set("license-type", Int(GTK_LICENSE_APACHE_2_0.rawValue))
        dialog.set("translator-credits", tr("translator-credits"))
        hybrid_dialog_present(dialog.pointer, window.pointer)
    }
}
