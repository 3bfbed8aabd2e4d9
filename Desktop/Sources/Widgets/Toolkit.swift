// SPDX-License-Identifier: Apache-2.0

internal import CHybridAdwaita
internal import Glibc
internal import HybridTranslation

/// The start of GTK and libadwaita, and styles.
package enum Toolkit {
    /// The application ID of all windows with libadwaita, so that shells show them as one application.
    ///
    /// The desktop file, the icon and the D-Bus name have the same name.
    package static let applicationID = "io.github.hybrid_signin.Passkeys"

    /// Starts the toolkit and binds the translations; returns false if there is no display.
    ///
    /// - Parameter renderer: The renderer, unless `GSK_RENDERER` names another one; `nil` for the default of GTK.
    package static func start(renderer: String? = nil) -> Bool {
        // Wayland's compositors and X11's window managers show it as the application.
        g_set_prgname(applicationID)
        if let renderer { setenv("GSK_RENDERER", renderer, 0) }
        Translation.bind()
        guard gtk_init_check() != 0 else { return false }
        adw_init()
        gtk_window_set_default_icon_name(applicationID)
        return true
    }

    /// Adds style rules for all windows.
    package static func addStyle(_ css: [UInt8]) { hybrid_add_style(String(decoding: css, as: UTF8.self)) }
}
