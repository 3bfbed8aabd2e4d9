// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <glib-unix.h>
#include <gtk/gtk.h>

// Macros for casts and variadic functions, neither of which Swift imports. All functions take widgets, so that Swift
// needs no casts.

static inline gulong hybrid_connect(gpointer object, const char *signal, GCallback handler, gpointer data) {
    return g_signal_connect_data(object, signal, handler, data, NULL, (GConnectFlags)0);
}

static inline GtkWidget *hybrid_label(const char *style, GtkAccessibleRole role) {
    // A role is fixed when the widget is created.
    GtkWidget *label = GTK_WIDGET(g_object_new(GTK_TYPE_LABEL, "accessible-role", role, NULL));
    gtk_label_set_wrap(GTK_LABEL(label), TRUE);
    gtk_label_set_wrap_mode(GTK_LABEL(label), PANGO_WRAP_WORD_CHAR);
    // A hyphen at the end of a line would look like a part of a host name.
    PangoAttrList *attributes = pango_attr_list_new();
    pango_attr_list_insert(attributes, pango_attr_insert_hyphens_new(FALSE));
    gtk_label_set_attributes(GTK_LABEL(label), attributes);
    pango_attr_list_unref(attributes);
    gtk_label_set_justify(GTK_LABEL(label), GTK_JUSTIFY_CENTER);
    gtk_label_set_max_width_chars(GTK_LABEL(label), 40);
    if (style) gtk_widget_add_css_class(label, style);
    return label;
}

static inline const char *hybrid_label_text(GtkWidget *label) { return gtk_label_get_text(GTK_LABEL(label)); }

// Plain text, never markup.
static inline void hybrid_label_set_text(GtkWidget *label, const char *text) {
    gtk_label_set_text(GTK_LABEL(label), text);
}

static inline GtkWidget *hybrid_drawing_area(const char *name, GtkDrawingAreaDrawFunc draw, gpointer data) {
    GtkWidget *area = GTK_WIDGET(g_object_new(GTK_TYPE_DRAWING_AREA, "accessible-role", GTK_ACCESSIBLE_ROLE_IMG, NULL));
    gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(area), draw, data, NULL);
    gtk_accessible_update_property(GTK_ACCESSIBLE(area), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
    return area;
}

static inline void hybrid_drawing_area_set_side(GtkWidget *area, int side) {
    gtk_drawing_area_set_content_width(GTK_DRAWING_AREA(area), side);
    gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(area), side);
}

static inline void hybrid_box_append(GtkWidget *box, GtkWidget *child) { gtk_box_append(GTK_BOX(box), child); }

static inline void hybrid_button_set_label(GtkWidget *button, const char *text) {
    gtk_button_set_label(GTK_BUTTON(button), text);
}

static inline void hybrid_window_set_child(GtkWidget *window, GtkWidget *child) {
    gtk_window_set_child(GTK_WINDOW(window), child);
}

static inline void hybrid_window_set_title(GtkWidget *window, const char *title) {
    gtk_window_set_title(GTK_WINDOW(window), title);
}

static inline void hybrid_window_set_default(GtkWidget *window, GtkWidget *button) {
    gtk_window_set_default_widget(GTK_WINDOW(window), button);
}

static inline void hybrid_window_set_focus(GtkWidget *window, GtkWidget *button) {
    gtk_window_set_focus(GTK_WINDOW(window), button);
}

// Lets the window become smaller, after a part of it was hidden.
static inline void hybrid_window_fit(GtkWidget *window) { gtk_window_set_default_size(GTK_WINDOW(window), -1, -1); }

static inline void hybrid_window_present(GtkWidget *window) { gtk_window_present(GTK_WINDOW(window)); }

// Calls `handler` with the window as first argument when Escape is pressed.
static inline void hybrid_window_add_escape(GtkWidget *window, GtkShortcutFunc handler, gpointer data) {
    GtkEventController *controller = gtk_shortcut_controller_new();
    gtk_shortcut_controller_add_shortcut(
        GTK_SHORTCUT_CONTROLLER(controller),
        gtk_shortcut_new(gtk_keyval_trigger_new(GDK_KEY_Escape, (GdkModifierType)0),
                         gtk_callback_action_new(handler, data, NULL)));
    gtk_widget_add_controller(window, controller);
}

// Applies GNOME's preference for dark windows, which GTK itself follows from version 4.20 on.
static inline void hybrid_apply_color_scheme(void) {
    GSettingsSchemaSource *source = g_settings_schema_source_get_default();
    // g_settings_new ends the program if the schema is not installed.
    GSettingsSchema *schema =
        source ? g_settings_schema_source_lookup(source, "org.gnome.desktop.interface", TRUE) : NULL;
    if (!schema) return;
    if (g_settings_schema_has_key(schema, "color-scheme")) {
        GSettings *settings = g_settings_new("org.gnome.desktop.interface");
        char *scheme = g_settings_get_string(settings, "color-scheme");
        if (g_strcmp0(scheme, "prefer-dark") == 0)
            g_object_set(gtk_settings_get_default(), "gtk-application-prefer-dark-theme", TRUE, NULL);
        g_free(scheme);
        g_object_unref(settings);
    }
    g_settings_schema_unref(schema);
}
