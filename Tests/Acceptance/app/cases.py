# SPDX-License-Identifier: Apache-2.0
"""One function per case; each raises Failed, or returns nothing or a note."""
from environment import LAPTOP, PHONE
from harness.waiting import Failed

CODE = "FIDO:/" + "0912" + "73" * 82
TRANSFER_CODE = "HYBRID:/" + "0912" + "73" * 82
ADA = "ada@example.com"
BACKUP_KEY = "12345 00042 99999 31415 27182 16180"
# Containers and pictures need no names.
SILENT = ("list", "panel", "filler", "frame", "list item", "scroll pane", "grouping", "generic", "viewport", "tab panel")


def check(is_so, what):
    if not is_so:
        raise Failed(what)


def unlock(app):
    app.tap("Unlock Passkeys")
    app.until_named(ADA, "list item")


def check_page(app, page):
    """Checks that each control has a name and is large enough for a finger."""
    app.picture(f"-{page}")
    for role, name, states, (_, _, width, height) in app.elements():
        if "focusable" in states and not name:
            check(role in SILENT, f"{page}: a {role} has no name")
        # The buttons of the window are those of the desktop, and not on phones.
        if role in ("button", "toggle button", "list item") and name not in ("Minimize", "Maximize", "Close") and width > 1:
            check(height >= 44, f"{page}: the {role} {name!r} is {height} pixels high")


def passkeys(env, name):
    """List, plain names, search, details and history."""
    with env.open(name) as app:
        app.until_named("Scan a Code", "button")
        check_page(app, "locked")
        unlock(app)
        names = app.names()
        check("bbob/b co" in names, f"expected the name without markup, found {names}")
        sites = [one for one in names if one in ("example.com", "github.com", "shop.example", "ssh:laptop")]
        check(sites == sorted(sites) and len(sites) == 4, f"expected four sites in order, found {sites}")
        check_page(app, "list")
        app.tap("Search passkeys", "entry", "text")
        app.type("lovelace exam")
        app.until_gone("github.com")
        app.tap(ADA)
        app.until_named("Delete Passkey…", "button")
        app.until_named("Declined")
        check(app.until_commanded("the command show", lambda one: one["do"] == "show"), "")
        check_page(app, "details")
        app.tap("Manage at the Site")
        app.until_named("This site names no page for passkeys. Look in the settings of your account there.")


def managed(env, name):
    """The site's page about passkeys opens in the browser."""
    with env.open(name, story="managed") as app:
        unlock(app)
        app.tap(ADA)
        app.tap("Manage at the Site")
        app.until_commanded("the browser", lambda one: one == "browser https://example.com/passkeys?of=ada&sort=1")


def rename(env, name):
    """A new name, and the earlier one again."""
    with env.open(name, screen=LAPTOP) as app:
        unlock(app)
        app.tap(ADA)
        app.until_named("Delete Passkey…", "button")
        app.tap("Account", "text", "entry")
        app.press("ctrl+a")
        app.type("countess")
        app.press("Return")
        told = app.until_commanded("the command rename", lambda one: one["do"] == "rename")
        check(told["name"] == "countess" and "displayName" not in told, f"told {told}")
        app.tap("Undo")
        app.until_commanded("the earlier name", lambda one: isinstance(one, dict) and one.get("name") == ADA)
        app.until_named(ADA, "list item")


def delete(env, name):
    """The passkey disappears after the helper has asked."""
    with env.open(name, story="recovered") as app:
        unlock(app)
        app.tap("ada", "list item")
        app.tap("Delete Passkey…")
        app.until_named("The passkey of github.com is deleted")
        app.until_gone("github.com")


def declined(env, name):
    """A declined deletion changes nothing."""
    with env.open(name, story="declined") as app:
        unlock(app)
        app.tap(ADA)
        app.tap("Delete Passkey…")
        app.until_commanded("the command delete", lambda one: one["do"] == "delete")
        app.until_named("Delete Passkey…", "button")
        app.tap("Back")
        app.until_named(ADA, "list item")


def locked(env, name):
    """The list disappears when the user locks it; a wait after wrong PINs is said in the app's words."""
    with env.open(name) as app:
        unlock(app)
        app.menu("Down", "Down")
        app.until_named("Unlock Passkeys", "button")
        check(ADA not in app.names(), "the list is still there")
    with env.open(f"{name}-wait", story="pin-wait") as app:
        app.tap("Unlock Passkeys")
        app.until_named("Too many wrong PINs. Try again in 2 minutes.")


def link(env, name):
    """A second start passes its link to the first, which passes it on by standard input."""
    with env.open(name) as app:
        app.until_named("Scan a Code", "button")
        status = app.start_again(CODE.lower())
        check(status == 0, f"the second start ended with {status}")
        app.until_named("Signed in")
        told = app.until_commanded("the scan", lambda one: "scan" in one)
        check(told.split() == ["scan", "-", "--from-link", "--json", CODE.lower()], f"told {told}")
        check_page(app, "done")
        app.start_again("FIDO:/nonsense")
        app.until_named("This link is not the code of a sign-in")


def lost(env, name):
    """A failure is said in the app's words, with those of the helper below."""
    with env.open(name, story="lost", arguments=[CODE]) as app:
        app.until_named("The other device did not find this one")
        app.until_named("Try Again", "button")
        app.until_named("The device that shows the code did not find this one. Move closer.")


def cancelled(env, name):
    """Cancel interrupts the helper."""
    with env.open(name, story="slow", arguments=[CODE]) as app:
        app.until_named("Connecting to the other device")
        check_page(app, "connecting")
        app.tap("Cancel")
        app.until_named("Ready to scan")
        app.until_commanded("the interruption", lambda one: one == "interrupted")


def no_camera(env, name):
    """Without a camera, pictures and the clipboard remain."""
    with env.open(name) as app:
        app.tap("Scan a Code")
        app.until_named("Try Again", "button")
        for other in ("Image", "Paste"):
            app.until_named(other, "button")
        check_page(app, "scan")


def paste(env, name):
    """The text of a code comes from the clipboard, and no other text leaves it."""
    with env.open(name) as app:
        unlock(app)

        def copy(text):
            app.tap("Search passkeys", "entry", "text")
            app.type(text)
            app.press("ctrl+a", "ctrl+x")

        copy("correct horse")
        app.press("ctrl+n")
        app.tap("Paste")
        app.until_named("The clipboard has no code; copy the whole text of the code")
        app.tap("Back")
        copy(CODE)
        app.press("ctrl+n")
        app.tap("Paste")
        told = app.until_commanded("the scan", lambda one: "scan" in one)
        check(told.split() == ["scan", "-", "--json", CODE], f"told {told}")
        app.until_named("Signed in")


def receive(env, name):
    """The code, which disappears when the user cancels; the digits; the end."""
    def start(app):
        app.until_named("Scan a Code", "button")
        app.menu("Down")
        app.tap("Receive Passkeys…", "list item")

    with env.open(name, story="code") as app:
        start(app)
        app.until_named("Let the other device scan this code")
        read = app.waiting.until("a picture of the code", lambda: app.screen.code(env.folder.path(f"{name}-code.png")), 30)
        check(read == TRANSFER_CODE, f"expected the code of the helper; zbar read {read!r}")
        check_page(app, "code")
        app.tap("Cancel")
        app.until_commanded("the interruption", lambda one: one == "interrupted")
        app.until_gone("Let the other device scan this code")
    with env.open(f"{name}-digits", story="digits") as app:
        start(app)
        app.until_named("042 117")
        app.until_named('The screen of "Bob\'s phone" must show the same. If not, cancel.')
        app.until_named("example.com, ada\nand 6 more")
        check_page(app, "digits")
        app.tap("Cancel")
        app.until_commanded("the interruption", lambda one: one == "interrupted")
    with env.open(f"{name}-done") as app:
        start(app)
        app.until_named("2 passkeys received")
        check_page(app, "received")


def give(env, name):
    """A passkey is given to the device whose code is pasted, and the code is on no command line."""
    with env.open(name) as app:
        unlock(app)

        def copy(text):
            app.tap("Search passkeys", "entry", "text")
            app.press("ctrl+a")
            app.type(text)
            app.press("ctrl+a", "ctrl+x")

        copy(CODE)
        app.tap(ADA)
        app.tap("Give to a Person Nearby…")
        app.tap("Paste")
        app.until_named("This is the code of a sign-in")
        app.tap("Back")
        copy(TRANSFER_CODE)
        app.tap(ADA)
        app.tap("Give to a Person Nearby…")
        app.tap("Paste")
        told = app.until_commanded("the gift", lambda one: "give" in one)
        check(told.split()[:3] == ["give", "--json", "--"] and told.split()[4:] == ["-", TRANSFER_CODE], f"told {told}")
        app.until_named("1 passkey given")
        check_page(app, "given")


def files(env, name):
    """Import, export and backup get the paths that the user has chosen, and the digits of a backup are shown."""
    folder = env.folder.scratch / f"{name}-files"
    folder.mkdir()
    (folder / "old.json").write_text("{}", encoding="ascii")
    with env.open(name) as app:
        app.until_named("Scan a Code", "button")
        app.menu("Down")
        app.tap("Export…", "list item")
        app.choose_file("Export All Passkeys", folder / "new.json")
        app.until_commanded("the export", lambda one: one == f"export --json -- {folder / 'new.json'}")
        app.tap("Import…", "list item")
        app.choose_file("Choose an Export of Another Program", folder / "old.json")
        app.until_commanded("the import", lambda one: one == f"import --json -- {folder / 'old.json'}")
        app.tap("Back Up…", "list item")
        app.choose_file("Back Up the Vault", folder / "new.hybrid-backup")
        app.until_commanded("the backup", lambda one: one == f"vault backup --json -- {folder / 'new.hybrid-backup'}")
        app.until_named("The backup is written")
        app.until_named(f"Write down these digits, which restoring the backup shows: {BACKUP_KEY}")


def activated(env, name):
    """The session bus starts the app for a link, with the file that is installed, and the link is on no command line."""
    with env.open(name, activated=True) as app:
        app.activate("launch", CODE)
        told = app.until_commanded("the scan", lambda one: "scan" in one)
        check(told.split() == ["scan", "-", "--from-link", "--json", CODE], f"told {told}")
        app.until_window()
        app.until_named("Signed in")
        check(CODE not in app.command_line(), "the code is on the command line")
        app.activate("action", "passkeys")
        app.until_named("Unlock Passkeys", "button")


def exported(env, name):
    """Other programs can activate only what shows a page."""
    with env.open(name) as app:
        unlock(app)
        found = app.exported()
        check(found == ["passkeys", "scan"], f"the session bus has the actions {found}")


def set_up(app, look=lambda page: None):
    """Goes through the first start; `look` is called with the name of a page."""
    app.tap("Begin")
    app.until_named("Choose a Relay")
    look("relay")
    app.tap("Enter Its Name", "radio button")
    app.tap("Number or host name", "text", "entry")
    app.type("cable.example")
    app.tap("Check and Save")
    app.tap("Next")
    app.tap("Choose a PIN")
    app.until_named("Write Down a Recovery Code")
    app.tap("Later")
    app.until_named("Unlock Passkeys", "button")


def welcome(env, name):
    """The first start, to the list."""
    with env.open(name, story="no-vault") as app:
        set_up(app, lambda page: check_page(app, page))
        told = [one for one in app.commands if isinstance(one, str)]
        check(told[:1] == ["setup --json --tunnel-domain=cable.example"], f"told {told}")


def left(env, name):
    """The way back from the search for the code of a relay, also on a wide window, and the vault without a PIN."""
    for suffix, screen in (("", PHONE), ("-wide", LAPTOP)):
        with env.open(name + suffix, story="no-vault", screen=screen) as app:
            app.tap("Begin")
            app.until_named("Choose a Relay")
            app.tap("Scan Its Code", "radio button")
            app.tap("Scan Its Code", "button")
            app.until_named("Cancel", "button")
            app.tap("Cancel", "button")
            app.until_named("Choose a Relay")
    with env.open(f"{name}-no-pin", story="no-pin") as app:
        app.until_named("Choose a PIN for this device, with the recovery code of the vault")
        check_page(app, "no-pin")
        app.tap("Fix")
        app.until_commanded("the command change-pin", lambda one: one == "vault change-pin --forgotten --json")


def newcomer(env, name):
    """Five tasks of a person who does not know the app, with the fewest taps that each can need."""
    with env.open(f"{name}-set-up", story="no-vault") as app:
        set_up(app)
        app.picture("-list")
        needed = {"set up": app.taps}
    with env.open(f"{name}-scan") as app:
        app.tap("Scan a Code")
        app.until_named("Image", "button")
        needed["scan"] = app.taps
    with env.open(f"{name}-find") as app:
        unlock(app)
        app.picture("-list")
        app.tap("Search passkeys", "entry", "text")
        app.type("git")
        app.until_gone("example.com")
        app.tap("ada", "list item")
        app.until_named("Delete Passkey…", "button")
        needed["find"] = app.taps
    with env.open(f"{name}-delete") as app:
        unlock(app)
        app.tap(ADA)
        app.until_named("Delete Passkey…", "button")
        app.picture("-details")
        app.tap("Delete Passkey…")
        app.until_named("The passkey of example.com is deleted")
        needed["delete"] = app.taps
    with env.open(f"{name}-unlink") as app:
        app.tap("Computers")
        app.picture("-computers")
        app.tap("work laptop")
        app.picture("-computer")
        app.tap("Forget…")
        app.picture("-question")
        app.tap("Forget")
        app.until_commanded("forget", lambda one: one == f"links forget --json -- {'aa' * 16}")
        needed["unlink"] = app.taps
    check(needed == {"set up": 7, "scan": 1, "find": 3, "delete": 3, "unlink": 4}, f"taps: {needed}")
    return ", ".join(f"{task} {taps}" for task, taps in needed.items())


def check_device(env, name):
    """The findings, in the app's words."""
    with env.open(name) as app:
        app.until_named("Scan a Code", "button")
        app.menu()
        app.until_named("1 problem prevents signing in")
        names = app.names()
        for text in ("No answer, or none chosen", "Without a recovery code the vault is lost with this device", "Not checked"):
            check(text in names, f"expected {text!r}, found {names}")
        check_page(app, "check")


def computers(env, name):
    """The list, unmuting and forgetting."""
    with env.open(name) as app:
        app.tap("Computers")
        app.until_named("Muted, because you declined several requests")
        check_page(app, "list")
        app.tap("studio")
        app.tap("Unmute")
        app.until_commanded("unmute", lambda one: one == f"links unmute --json -- {'bb' * 16}")
        app.tap("Forget…")
        app.tap("Forget")
        app.until_commanded("forget", lambda one: one == f"links forget --json -- {'bb' * 16}")


def vault(env, name):
    """The page of the vault."""
    with env.open(name) as app:
        app.until_named("Scan a Code", "button")
        app.menu("Down")
        app.until_named("There is no fingerprint sensor")
        check_page(app, "vault")
        app.tap("Forgotten PIN…")
        app.until_commanded("the command change-pin", lambda one: one == "vault change-pin --forgotten --json")
        app.until_named("The PIN is changed")


def large_text(env, name):
    """Nothing is cut off at twice the size; GTK complains about what does not fit."""
    with env.open(name, text=2, theme="dark") as app:
        app.until_named("Scan a Code", "button")
        app.picture("-locked")
        unlock(app)
        app.picture("-list")


CASES = {
    "passkeys": passkeys, "managed": managed, "rename": rename, "delete": delete, "declined": declined, "locked": locked,
    "link": link, "lost": lost, "cancelled": cancelled, "no-camera": no_camera, "exported": exported, "welcome": welcome,
    "left": left,
    "newcomer": newcomer, "check-device": check_device, "computers": computers, "vault": vault, "large-text": large_text,
    "paste": paste, "files": files, "activated": activated, "receive": receive, "give": give,
}
