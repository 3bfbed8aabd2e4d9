// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <adwaita.h>

// Functions for the request sheet.

// Returns the text of an entry without a copy; it is valid until the entry changes.
static inline const char *hybrid_entry_text(gpointer entry) { return gtk_editable_get_text(GTK_EDITABLE(entry)); }

static inline void hybrid_entry_clear(gpointer entry) { gtk_editable_set_text(GTK_EDITABLE(entry), ""); }

// The history would keep copies of what was typed.
static inline void hybrid_entry_forget(gpointer entry) { gtk_editable_set_enable_undo(GTK_EDITABLE(entry), FALSE); }

// An entry row does not name its text for screen readers.
static inline void hybrid_entry_set_name(gpointer entry, const char *name) {
    GtkEditable *text = gtk_editable_get_delegate(GTK_EDITABLE(entry));
    if (text) gtk_accessible_update_property(GTK_ACCESSIBLE(text), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
}

static inline void hybrid_set_default_widget(gpointer window, gpointer widget) {
    gtk_window_set_default_widget(GTK_WINDOW(window), widget ? GTK_WIDGET(widget) : NULL);
}

static inline void hybrid_forget_focus(gpointer window) { gtk_window_set_focus(GTK_WINDOW(window), NULL); }

// Gives a window the natural height of its content for a width; GTK itself would take the height for the least width.
static inline void hybrid_fit_height(gpointer window, gpointer content, int width) {
    // Without transparency, as in X11 without a compositor, GTK draws a frame that is a part of the size.
    const int frame = 10;
    int natural;
    gtk_widget_measure(GTK_WIDGET(content), GTK_ORIENTATION_VERTICAL, width - frame, NULL, &natural, NULL, NULL);
    gtk_window_set_default_size(GTK_WINDOW(window), width, natural + frame);
}

// A label that wraps, without hyphens: at the end of a line, one would look like a part of a name.
static inline gpointer hybrid_new_name_label(void) {
    GtkWidget *label = g_object_ref_sink(gtk_label_new(NULL));
    PangoAttrList *attributes = pango_attr_list_new();
    pango_attr_list_insert(attributes, pango_attr_insert_hyphens_new(FALSE));
    gtk_label_set_attributes(GTK_LABEL(label), attributes);
    pango_attr_list_unref(attributes);
    gtk_label_set_wrap(GTK_LABEL(label), TRUE);
    gtk_label_set_wrap_mode(GTK_LABEL(label), PANGO_WRAP_WORD_CHAR);
    gtk_label_set_xalign(GTK_LABEL(label), 0);
    return label;
}

static inline void hybrid_maximize(gpointer window) { gtk_window_maximize(GTK_WINDOW(window)); }

// Returns the width of the narrowest monitor; 0 if there is none.
static inline int hybrid_monitor_width(void) {
    GListModel *monitors = gdk_display_get_monitors(gdk_display_get_default());
    int width = 0;
    for (guint i = 0; i < g_list_model_get_n_items(monitors); i++) {
        GdkMonitor *monitor = g_list_model_get_item(monitors, i);
        GdkRectangle area;
        gdk_monitor_get_geometry(monitor, &area);
        if (!width || area.width < width) width = area.width;
        g_object_unref(monitor);
    }
    return width;
}

// Returns a day in the user's form, which the caller frees.
static inline char *hybrid_day(gint64 seconds) {
    GDateTime *time = g_date_time_new_from_unix_local(seconds);
    char *text = time ? g_date_time_format(time, "%x") : NULL;
    if (time) g_date_time_unref(time);
    return text;
}
