// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <adwaita.h>
#include <glib-unix.h>

#include "application.h"
#include "sheet.h"

// Macros for casts and variadic functions, neither of which Swift imports. All functions take any object, so that Swift
// needs no casts; GLib checks the types, and reports a wrong one on standard error.

// Returns a new object with one reference of the caller.
static inline gpointer hybrid_new(GType type) {
    GObject *object = (GObject *)g_object_new(type, NULL);
    if (g_object_is_floating(object)) return g_object_ref_sink(object);
    // The first reference of a window is that of GTK's list of windows.
    return GTK_IS_WINDOW(object) ? g_object_ref(object) : object;
}

static inline void hybrid_set_text(gpointer object, const char *property, const char *value) {
    g_object_set(object, property, value, NULL);
}

// Also for enumerations and flags.
static inline void hybrid_set_integer(gpointer object, const char *property, int value) {
    g_object_set(object, property, value, NULL);
}

static inline void hybrid_set_number(gpointer object, const char *property, double value) {
    g_object_set(object, property, value, NULL);
}

static inline void hybrid_set_object(gpointer object, const char *property, gpointer value) {
    g_object_set(object, property, value, NULL);
}

// Returns a copy, which the caller frees; NULL if there is no text.
static inline char *hybrid_get_text(gpointer object, const char *property) {
    char *value = NULL;
    g_object_get(object, property, &value, NULL);
    return value;
}

// Also for truth values, enumerations and flags.
static inline int hybrid_get_integer(gpointer object, const char *property) {
    int value = 0;
    g_object_get(object, property, &value, NULL);
    return value;
}

static inline double hybrid_get_number(gpointer object, const char *property) {
    double value = 0;
    g_object_get(object, property, &value, NULL);
    return value;
}

// Returns a reference that the caller owns; NULL if there is no object.
static inline gpointer hybrid_get_object(gpointer object, const char *property) {
    gpointer value = NULL;
    g_object_get(object, property, &value, NULL);
    return value;
}

// A handler of a signal with any parameters, of which the first is the object; the result counts if the signal has one.
typedef gboolean (*HybridHandler)(gpointer data, guint count, const GValue *parameters);

typedef struct {
    GClosure closure;
    HybridHandler handler;
} HybridClosure;

static inline void hybrid_marshal(GClosure *closure, GValue *result, guint count, const GValue *parameters,
                                  gpointer hint, gpointer unused) {
    (void)hint;
    (void)unused;
    gboolean answer = ((HybridClosure *)closure)->handler(closure->data, count, parameters);
    if (result && G_VALUE_HOLDS_BOOLEAN(result)) g_value_set_boolean(result, answer);
}

// Calls `release` with the data when the handler is not needed any more.
static inline gulong hybrid_connect(gpointer object, const char *signal, HybridHandler handler, gpointer data,
                                    GClosureNotify release) {
    GClosure *closure = g_closure_new_simple(sizeof(HybridClosure), data);
    ((HybridClosure *)closure)->handler = handler;
    g_closure_set_marshal(closure, hybrid_marshal);
    g_closure_add_finalize_notifier(closure, data, release);
    return g_signal_connect_closure(object, signal, closure, FALSE);
}

static inline const char *hybrid_value_text(const GValue *value) {
    if (G_VALUE_HOLDS_STRING(value)) return g_value_get_string(value);
    GVariant *variant = G_VALUE_HOLDS_VARIANT(value) ? g_value_get_variant(value) : NULL;
    return variant && g_variant_is_of_type(variant, G_VARIANT_TYPE_STRING) ? g_variant_get_string(variant, NULL) : NULL;
}

static inline gint64 hybrid_value_integer(const GValue *value) {
    if (G_VALUE_HOLDS_INT(value)) return g_value_get_int(value);
    if (G_VALUE_HOLDS_UINT(value)) return g_value_get_uint(value);
    if (G_VALUE_HOLDS_BOOLEAN(value)) return g_value_get_boolean(value);
    if (G_VALUE_HOLDS_ENUM(value)) return g_value_get_enum(value);
    GVariant *variant = G_VALUE_HOLDS_VARIANT(value) ? g_value_get_variant(value) : NULL;
    if (variant && g_variant_is_of_type(variant, G_VARIANT_TYPE_INT32)) return g_variant_get_int32(variant);
    if (variant && g_variant_is_of_type(variant, G_VARIANT_TYPE_BOOLEAN)) return g_variant_get_boolean(variant);
    return 0;
}

static inline gpointer hybrid_value_object(const GValue *value) {
    return G_VALUE_HOLDS_OBJECT(value) ? g_value_get_object(value) : NULL;
}

// Adds a child as the XML element `child` does, for every kind of container; `type` is that of the element, or NULL.
static inline void hybrid_add_child(gpointer parent, gpointer child, const char *type) {
    GtkBuildableIface *interface = G_TYPE_INSTANCE_GET_INTERFACE(parent, GTK_TYPE_BUILDABLE, GtkBuildableIface);
    GtkBuilder *builder = gtk_builder_new();
    interface->add_child(GTK_BUILDABLE(parent), builder, (GObject *)child, type);
    g_object_unref(builder);
}

static inline void hybrid_remove_children(gpointer parent) {
    GtkWidget *child;
    if (GTK_IS_LIST_BOX(parent)) {
        gtk_list_box_remove_all(GTK_LIST_BOX(parent));
    } else if (GTK_IS_FLOW_BOX(parent)) {
        gtk_flow_box_remove_all(GTK_FLOW_BOX(parent));
    } else if (GTK_IS_BOX(parent)) {
        while ((child = gtk_widget_get_first_child(GTK_WIDGET(parent)))) gtk_box_remove(GTK_BOX(parent), child);
    } else {
        g_critical("%s has no children that can be removed", G_OBJECT_TYPE_NAME(parent));
    }
}

static inline void hybrid_add_class(gpointer widget, const char *name) {
    gtk_widget_add_css_class(GTK_WIDGET(widget), name);
}

static inline void hybrid_remove_class(gpointer widget, const char *name) {
    gtk_widget_remove_css_class(GTK_WIDGET(widget), name);
}

static inline gboolean hybrid_focus(gpointer widget) { return gtk_widget_grab_focus(GTK_WIDGET(widget)); }

static inline void hybrid_set_accessible_label(gpointer widget, const char *text) {
    gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_LABEL, text, -1);
}

static inline void hybrid_set_accessible_description(gpointer widget, const char *text) {
    gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text, -1);
}

static inline void hybrid_announce(gpointer widget, const char *text, gboolean isUrgent) {
    GtkATContext *context = gtk_accessible_get_at_context(GTK_ACCESSIBLE(widget));
    // Without a session bus, GTK 4.18 uses a context that has no function for announcements, and calls it.
    gboolean isHeard = context && g_strcmp0(G_OBJECT_TYPE_NAME(context), "GtkTestATContext") != 0;
    g_clear_object(&context);
    if (!isHeard) return;
    gtk_accessible_announce(GTK_ACCESSIBLE(widget), text,
                            isUrgent ? GTK_ACCESSIBLE_ANNOUNCEMENT_PRIORITY_HIGH
                                     : GTK_ACCESSIBLE_ANNOUNCEMENT_PRIORITY_MEDIUM);
}

static inline void hybrid_present(gpointer window) { gtk_window_present(GTK_WINDOW(window)); }

static inline void hybrid_insert_actions(gpointer widget, const char *prefix, gpointer group) {
    gtk_widget_insert_action_group(GTK_WIDGET(widget), prefix, G_ACTION_GROUP(group));
}

static inline gpointer hybrid_new_action(const char *name, const char *parameter) {
    return g_simple_action_new(name, parameter ? G_VARIANT_TYPE(parameter) : NULL);
}

static inline void hybrid_add_action(gpointer group, gpointer action) {
    g_action_map_add_action(G_ACTION_MAP(group), G_ACTION(action));
}

static inline void hybrid_enable_action(gpointer action, gboolean isEnabled) {
    g_simple_action_set_enabled((GSimpleAction *)action, isEnabled);
}

static inline void hybrid_add_style(const char *css) {
    GtkCssProvider *provider = gtk_css_provider_new();
    gtk_css_provider_load_from_string(provider, css);
    gtk_style_context_add_provider_for_display(gdk_display_get_default(), GTK_STYLE_PROVIDER(provider),
                                               GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
    g_object_unref(provider);
}
