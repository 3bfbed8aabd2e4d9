// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <adwaita.h>
#include <signal.h>
#include <sys/prctl.h>

// Functions of an application with windows of its own. As in shim.h, they take any object.

static inline gpointer hybrid_application_new(const char *id) {
    return adw_application_new(id, G_APPLICATION_HANDLES_OPEN);
}

static inline int hybrid_application_run(gpointer application, int count, char **arguments) {
    return g_application_run(G_APPLICATION(application), count, arguments);
}

typedef void (*HybridTextHandler)(gpointer data, const char *text);

typedef struct {
    HybridTextHandler handler;
    gpointer data;
} HybridTextCall;

static inline HybridTextCall *hybrid_text_call(HybridTextHandler handler, gpointer data) {
    HybridTextCall *call = g_new(HybridTextCall, 1);
    call->handler = handler;
    call->data = data;
    return call;
}

// Calls the handler once and frees the call; `text` may be NULL.
static inline void hybrid_finish_text_call(gpointer pointer, const char *text) {
    HybridTextCall *call = (HybridTextCall *)pointer;
    call->handler(call->data, text);
    g_free(call);
}

static inline void hybrid_opened(GApplication *application, GFile **files, int count, const char *hint, gpointer data) {
    (void)application;
    (void)hint;
    HybridTextCall *call = (HybridTextCall *)data;
    for (int i = 0; i < count; i++) {
        char *uri = g_file_get_uri(files[i]);
        call->handler(call->data, uri);
        memset(uri, 0, strlen(uri));
        g_free(uri);
    }
}

// Calls the handler for each opened URI, as long as the application lives.
static inline void hybrid_application_on_open(gpointer application, HybridTextHandler handler, gpointer data) {
    g_signal_connect(application, "open", G_CALLBACK(hybrid_opened), hybrid_text_call(handler, data));
}

// Adds an action to the application itself, which exports it on the session bus: for actions without any risk only.
static inline gpointer hybrid_application_add_action(gpointer application, const char *name) {
    GSimpleAction *action = g_simple_action_new(name, NULL);
    g_action_map_add_action(G_ACTION_MAP(application), G_ACTION(action));
    return action;
}

static inline void hybrid_application_set_accelerator(gpointer application, const char *action, const char *key) {
    const char *keys[] = {key, NULL};
    gtk_application_set_accels_for_action(GTK_APPLICATION(application), action, keys);
}

// Sets the action of a button or a row, with a text as its target unless that is NULL.
static inline void hybrid_set_action(gpointer widget, const char *name, const char *target) {
    gtk_actionable_set_action_name(GTK_ACTIONABLE(widget), name);
    if (target) gtk_actionable_set_action_target_value(GTK_ACTIONABLE(widget), g_variant_new_string(target));
}

// A hyphen at the end of a line would look like a part of a name.
static inline void hybrid_forbid_hyphens(gpointer label) {
    PangoAttrList *attributes = pango_attr_list_new();
    pango_attr_list_insert(attributes, pango_attr_insert_hyphens_new(FALSE));
    gtk_label_set_attributes(GTK_LABEL(label), attributes);
    pango_attr_list_unref(attributes);
}

static inline void hybrid_stack_add(gpointer stack, gpointer child, const char *name) {
    gtk_stack_add_named(GTK_STACK(stack), GTK_WIDGET(child), name);
}

static inline void hybrid_add_toast(gpointer overlay, gpointer toast) {
    adw_toast_overlay_add_toast(ADW_TOAST_OVERLAY(overlay), ADW_TOAST(g_object_ref(toast)));
}

static inline gpointer hybrid_alert_new(const char *heading, const char *body) {
    return adw_alert_dialog_new(heading, body);
}

static inline void hybrid_alert_add(gpointer alert, const char *id, const char *label, gboolean isDestructive) {
    adw_alert_dialog_add_response(ADW_ALERT_DIALOG(alert), id, label);
    if (isDestructive)
        adw_alert_dialog_set_response_appearance(ADW_ALERT_DIALOG(alert), id, ADW_RESPONSE_DESTRUCTIVE);
}

static inline void hybrid_dialog_present(gpointer dialog, gpointer parent) {
    adw_dialog_present(ADW_DIALOG(dialog), GTK_WIDGET(parent));
}

static inline void hybrid_text_read(GObject *clipboard, GAsyncResult *result, gpointer call) {
    char *text = gdk_clipboard_read_text_finish(GDK_CLIPBOARD(clipboard), result, NULL);
    hybrid_finish_text_call(call, text);
    if (text) memset(text, 0, strlen(text));
    g_free(text);
}

// Reads the text of the clipboard; the handler gets NULL if there is none.
static inline void hybrid_read_clipboard(gpointer widget, HybridTextHandler handler, gpointer data) {
    gdk_clipboard_read_text_async(gtk_widget_get_clipboard(GTK_WIDGET(widget)), NULL, hybrid_text_read,
                                  hybrid_text_call(handler, data));
}

static inline void hybrid_write_clipboard(gpointer widget, const char *text) {
    gdk_clipboard_set_text(gtk_widget_get_clipboard(GTK_WIDGET(widget)), text);
}

static inline void hybrid_file_chosen(GObject *dialog, GAsyncResult *result, gpointer call) {
    gboolean isSave = g_object_get_data(dialog, "hybrid-save") != NULL;
    GFile *file = isSave ? gtk_file_dialog_save_finish(GTK_FILE_DIALOG(dialog), result, NULL)
                         : gtk_file_dialog_open_finish(GTK_FILE_DIALOG(dialog), result, NULL);
    char *path = file ? g_file_get_path(file) : NULL;
    hybrid_finish_text_call(call, path);
    g_free(path);
    g_clear_object(&file);
}

// Lets the user choose a file; the handler gets its path, or NULL. With a name, the file is to be written.
static inline void hybrid_choose_file(gpointer window, const char *title, const char *name, const char *mime,
                                      HybridTextHandler handler, gpointer data) {
    GtkFileDialog *dialog = gtk_file_dialog_new();
    gtk_file_dialog_set_title(dialog, title);
    if (mime) {
        GtkFileFilter *filter = gtk_file_filter_new();
        gtk_file_filter_add_mime_type(filter, mime);
        gtk_file_dialog_set_default_filter(dialog, filter);
        g_object_unref(filter);
    }
    HybridTextCall *call = hybrid_text_call(handler, data);
    if (name) {
        gtk_file_dialog_set_initial_name(dialog, name);
        g_object_set_data(G_OBJECT(dialog), "hybrid-save", dialog);
        gtk_file_dialog_save(dialog, GTK_WINDOW(window), NULL, hybrid_file_chosen, call);
    } else {
        gtk_file_dialog_open(dialog, GTK_WINDOW(window), NULL, hybrid_file_chosen, call);
    }
    g_object_unref(dialog);
}

static inline void hybrid_launch_uri(gpointer window, const char *uri) {
    GtkUriLauncher *launcher = gtk_uri_launcher_new(uri);
    gtk_uri_launcher_launch(launcher, GTK_WINDOW(window), NULL, NULL, NULL);
    g_object_unref(launcher);
}

// Shows a picture of red, green and blue bytes; the bytes are copied.
static inline void hybrid_show_pixels(gpointer picture, const void *pixels, int width, int height) {
    GBytes *bytes = g_bytes_new(pixels, (gsize)width * (gsize)height * 3);
    GdkTexture *texture = gdk_memory_texture_new(width, height, GDK_MEMORY_R8G8B8, bytes, (gsize)width * 3);
    gtk_picture_set_paintable(GTK_PICTURE(picture), GDK_PAINTABLE(texture));
    g_object_unref(texture);
    g_bytes_unref(bytes);
}

static inline void hybrid_clear_picture(gpointer picture) { gtk_picture_set_paintable(GTK_PICTURE(picture), NULL); }

typedef void (*HybridEndHandler)(gpointer data, gboolean hasExited, int status);

typedef struct {
    HybridEndHandler handler;
    gpointer data;
} HybridEndCall;

static inline void hybrid_process_ended(GObject *process, GAsyncResult *result, gpointer pointer) {
    HybridEndCall *call = (HybridEndCall *)pointer;
    GSubprocess *subprocess = G_SUBPROCESS(process);
    g_subprocess_wait_finish(subprocess, result, NULL);
    gboolean hasExited = g_subprocess_get_if_exited(subprocess);
    call->handler(call->data, hasExited, hasExited ? g_subprocess_get_exit_status(subprocess) : 0);
    g_free(call);
}

// Interrupts the child when this process ends in any way, because nothing would show the request any more.
static inline void hybrid_end_with_parent(gpointer data) {
    (void)data;
    prctl(PR_SET_PDEATHSIG, SIGINT);
}

// Starts a program with these descriptors, which are closed here, and no other; returns NULL if it can't be started.
// Variables of this program that the other one does not know are left out.
static inline gpointer hybrid_process_start(const char *const *arguments, int input, int output, int diagnostics,
                                            const char *withoutVariable, const char *ask, const char *token,
                                            HybridEndHandler handler, gpointer data) {
    GSubprocessLauncher *launcher = g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_NONE);
    g_subprocess_launcher_unsetenv(launcher, withoutVariable);
    if (ask) g_subprocess_launcher_setenv(launcher, "HYBRID_ASK", ask, TRUE);
    if (token) g_subprocess_launcher_setenv(launcher, "XDG_ACTIVATION_TOKEN", token, TRUE);
    g_subprocess_launcher_take_stdin_fd(launcher, input);
    g_subprocess_launcher_take_stdout_fd(launcher, output);
    g_subprocess_launcher_take_stderr_fd(launcher, diagnostics);
    g_subprocess_launcher_set_child_setup(launcher, hybrid_end_with_parent, NULL, NULL);
    GSubprocess *process = g_subprocess_launcher_spawnv(launcher, arguments, NULL);
    g_object_unref(launcher);
    if (!process) return NULL;
    HybridEndCall *call = g_new(HybridEndCall, 1);
    call->handler = handler;
    call->data = data;
    g_subprocess_wait_async(process, NULL, hybrid_process_ended, call);
    return process;
}

static inline void hybrid_process_signal(gpointer process, int number) {
    g_subprocess_send_signal(G_SUBPROCESS(process), number);
}

// Returns a token with which a window of another process may appear in front; the caller frees it. NULL without one.
static inline char *hybrid_activation_token(gpointer window) {
    GdkDisplay *display = gtk_widget_get_display(GTK_WIDGET(window));
    // On X11 it would show a busy pointer, and windows appear in front without it.
    if (g_strcmp0(G_OBJECT_TYPE_NAME(display), "GdkWaylandDisplay") != 0) return NULL;
    GAppInfo *info = g_app_info_create_from_commandline("hybrid-auth", NULL,
                                                        G_APP_INFO_CREATE_SUPPORTS_STARTUP_NOTIFICATION, NULL);
    GdkAppLaunchContext *context = gdk_display_get_app_launch_context(display);
    char *token = g_app_launch_context_get_startup_notify_id(G_APP_LAUNCH_CONTEXT(context), info, NULL);
    g_object_unref(context);
    g_object_unref(info);
    return token;
}

static inline int64_t hybrid_now(void) { return g_get_real_time() / G_USEC_PER_SEC; }

// Returns the seconds east of Greenwich of the user's time zone at a time.
static inline int64_t hybrid_utc_offset(int64_t time) {
    GTimeZone *zone = g_time_zone_new_local();
    int interval = g_time_zone_find_interval(zone, G_TIME_TYPE_UNIVERSAL, time);
    int64_t offset = interval < 0 ? 0 : g_time_zone_get_offset(zone, interval);
    g_time_zone_unref(zone);
    return offset;
}

typedef void (*HybridMainHandler)(gpointer target, gpointer message);

typedef struct {
    HybridMainHandler handler;
    gpointer target;
    gpointer message;
} HybridMainCall;

static inline gboolean hybrid_main_call(gpointer pointer) {
    HybridMainCall *call = (HybridMainCall *)pointer;
    call->handler(call->target, call->message);
    return G_SOURCE_REMOVE;
}

// Calls the handler on the main loop, in the order of these calls; to be called from any thread.
static inline void hybrid_call_on_main_loop(HybridMainHandler handler, gpointer target, gpointer message) {
    HybridMainCall *call = g_new(HybridMainCall, 1);
    call->handler = handler;
    call->target = target;
    call->message = message;
    g_idle_add_full(G_PRIORITY_DEFAULT, hybrid_main_call, call, g_free);
}

// Returns true if the user has turned cameras off for all programs.
static inline gboolean hybrid_cameras_are_off(void) {
    GSettingsSchemaSource *source = g_settings_schema_source_get_default();
    GSettingsSchema *schema =
        source ? g_settings_schema_source_lookup(source, "org.gnome.desktop.privacy", TRUE) : NULL;
    gboolean isOff = FALSE;
    if (schema && g_settings_schema_has_key(schema, "disable-camera")) {
        GSettings *settings = g_settings_new("org.gnome.desktop.privacy");
        isOff = g_settings_get_boolean(settings, "disable-camera");
        g_object_unref(settings);
    }
    if (schema) g_settings_schema_unref(schema);
    return isOff;
}

static inline char *hybrid_camera_file(void) {
    return g_build_filename(g_get_user_state_dir(), "hybrid-passkeys", "camera", NULL);
}

// Keeps the name of a camera; nothing depends on it, so failures are ignored.
static inline void hybrid_remember_camera(const char *name) {
    char *path = hybrid_camera_file();
    char *folder = g_path_get_dirname(path);
    g_mkdir_with_parents(folder, 0700);
    g_file_set_contents(path, name, -1, NULL);
    g_free(folder);
    g_free(path);
}

// Returns the name of the camera that was remembered, which the caller frees; NULL without one.
static inline char *hybrid_remembered_camera(void) {
    char *path = hybrid_camera_file();
    char *name = NULL;
    g_file_get_contents(path, &name, NULL, NULL);
    g_free(path);
    return name;
}

// Lets a phone vibrate for a moment, where feedbackd runs.
static inline void hybrid_give_feedback(const char *application) {
    GDBusConnection *bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, NULL);
    if (!bus) return;
    g_dbus_connection_call(bus, "org.sigxcpu.Feedback", "/org/sigxcpu/Feedback", "org.sigxcpu.Feedback", "TriggerFeedback",
                           g_variant_new("(ss@a{sv}i)", application, "button-pressed",
                                         g_variant_new_array(G_VARIANT_TYPE("{sv}"), NULL, 0), -1),
                           NULL, G_DBUS_CALL_FLAGS_NO_AUTO_START, 1000, NULL, NULL, NULL);
    g_object_unref(bus);
}
