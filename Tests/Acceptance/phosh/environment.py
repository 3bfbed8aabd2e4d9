# SPDX-License-Identifier: Apache-2.0
"""Environment of the app in Phosh: that of the suite passkeys, with a phone's desktop in place of a window manager."""
import json
import re
import shutil

from login import Login
from passkeys.environment import LIMIT, ORIGIN, PIN, TAPPED, App, AppEnvironment, Client
from shell import DISPLAY, HEIGHT, SCALE, TOP, WIDTH, Phosh

from harness.accessibility import ScreenReader
from harness.command import REPOSITORY
from harness.phone import PINENTRY
from harness.programs import brief
from harness.relay import DOMAIN, HOST
from harness.screen import Screen
from harness.waiting import must

LABEL = "work laptop"
APPLICATION = "io.github.hybrid_signin.Passkeys"
# Movement would only cost time.
SETTINGS = """\
[org/gnome/desktop/interface]
enable-animations=false
"""


class PhoshEnvironment(AppEnvironment):
    """Everything that the app needs on a phone."""

    relay_options = ("--contact-host", HOST)

    def start_screen(self):
        self.screen = self.keep(Screen(self.folder, self.waiting, size=f"{WIDTH * SCALE}x{HEIGHT * SCALE}", manager=False))
        # For the services that the session bus starts, too.
        self.screen.environment |= {
            "WAYLAND_DISPLAY": DISPLAY, "GDK_BACKEND": "wayland", "GSK_RENDERER": "cairo",
            "XDG_CURRENT_DESKTOP": "Phosh:GNOME", "XDG_SESSION_TYPE": "wayland", "GSETTINGS_BACKEND": "memory"}

    def __init__(self, *parts):
        super().__init__(*parts)
        #: The IDs of the passkeys, by account.
        self.passkeys = {}
        self._is_linked = False

    def start(self):
        super().start()
        settings = self.folder.home / ".config/glib-2.0/settings/keyfile"
        settings.parent.mkdir(parents=True)
        settings.write_text(SETTINGS, encoding="ascii")
        self.environment["GSETTINGS_BACKEND"] = "keyfile"
        self._install()
        self.reader = self.keep(ScreenReader(self.bus.address, self.environment))
        self.login = self.keep(Login(self.radio.address))
        self.phosh = self.keep(Phosh(self.folder, self.waiting, self.bus, self.reader, self.environment))

    def after_case(self, name, failed):
        complaints = super().after_case(name, failed)
        if self.phosh.is_locked:
            self.login.unlock()
            self.waiting.until("Phosh to be unlocked", lambda: not self.phosh.is_locked, LIMIT)
        return complaints

    def _person(self):
        """Returns the variables of a user who answers a script in place of the sheet."""
        return {"HYBRID_ASK": "", "PERSON_PIN": PIN, "PERSON_ANSWER": "yes", "PERSON_MAY": "",
                "PERSON_LOG": str(self.folder.path("pinentry.log"))}

    def _done(self, *words, text=None):
        program = self.command(*words, "--pinentry", PINENTRY, *(["-"] if text else []), text=text, **self._person())
        self.waiting.until(f"hybrid-auth {words[0]} to end", lambda: program.status is not None, LIMIT)
        must(program.status == 0, f"hybrid-auth {words[0]} {program.ending}: {program.said()}")

    def passkey_of(self, account):
        """Returns the ID of the passkey of an account; makes it, and the vault, by commands if no case has done so."""
        if not self.passkeys and not self.vault_exists:
            setup = self.command("setup", "--tunnel-domain", DOMAIN)
            self.waiting.until("hybrid-auth setup to end", lambda: setup.status is not None, LIMIT)
            self._done("vault", "init")
        if account not in self.passkeys:
            options = self.site.creation_options(account=account)
            client = self.client(options)
            self._done("scan", text=f"{code_of(client)}\n")
            self.passkeys[account] = self.site.verify_creation(self.ended(client), options["challenge"])["id"]
        return self.passkeys[account]

    @property
    def vault_exists(self):
        return any((self.folder.home / ".local/share").glob("*/vault/vault.json"))

    def _install(self):
        """Installs the files by which the shell knows the app."""
        data, target = REPOSITORY / "Desktop/data", self.folder.home / ".local/share"
        icons = target / "icons/hicolor"
        for file, folder in ((f"{APPLICATION}.desktop", target / "applications"),
                             (f"{APPLICATION}.svg", icons / "scalable/apps"),
                             (f"{APPLICATION}-symbolic.svg", icons / "symbolic/apps")):
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(data / file, folder)

    def tap(self, place):
        """Taps the middle of an element of a window."""
        left, top, width, height = place
        self.phosh.tap(left + width / 2, TOP + top + height / 2)

    def open(self, name, *arguments):
        return PhoneApp(self, name, arguments)

    def linked_client(self, options, *flags):
        """Starts show-qr of a computer with links of its own."""
        number = self.number()
        request = self.folder.scratch / f"request-{number}.json"
        request.write_text(json.dumps({"publicKey": options}), encoding="utf-8")
        return self.keep(Client("hybrid-client", [
            self.programs.client, "show-qr", "--json", "--request", request, "--origin", ORIGIN, "--adapter", "hci0",
            "--cacert", self.certificates.authority, "--connect-to", f"{HOST}:443:127.0.0.1:{self.relay.port}", *flags],
            log=self.folder.path(f"client-{number}.log"), pipe_input=True,
            environment=self.folder.environment(DBUS_SYSTEM_BUS_ADDRESS=self.radio.address,
                                                XDG_STATE_HOME=str(self.folder.scratch / "computer"))))

    def command(self, *words, text=None, **variables):
        """Starts a command of hybrid-auth."""
        # A setting of the app only.
        environment = {name: value for name, value in self.environment.items() if name != "HYBRID_AUTH"}
        return self.keep(Client("hybrid-auth", [self.auth, *words], text=text,
                                log=self.folder.path(f"{words[0]}-{self.number()}.log"),
                                environment={**environment, **variables}))

    def link(self, passkey):
        """Links the computer of `linked_client`, unless it is, in a sign-in with a code and a passkey, given by its ID."""
        if self._is_linked:
            return
        self._is_linked = True
        options = self.site.request_options(allow="any")
        options["allowCredentials"] = [{"type": "public-key", "id": passkey}]
        client = self.linked_client(options, "--link")
        self.waiting.until("a code", lambda: "FIDO:/" in client.said(), LIMIT)
        scan = self.command("scan", "--link-as", LABEL, "--pinentry", PINENTRY, "-", text=f"{code_of(client)}\n",
                            **self._person())
        self.waiting.until("the offer of a link", lambda: '"link-offer"' in client.said(), LIMIT)
        client.write("yes\n")
        for program in (client, scan):
            self.waiting.until(f"{program.name} to end", lambda program=program: program.status is not None, LIMIT)
            must(program.status == 0, f"expected a link; {program.name} {program.ending}: {program.said()}")

    def listen(self, name):
        return Listener(self, name)


class PhoneApp(App):
    """A run of the app on the phone; each of its windows fills the screen below the bar."""

    def __enter__(self):
        self._env.waiting.until("the window of the app to have the focus", lambda: self._window(self.pid), LIMIT)
        return self

    def elements(self, process=None):
        return self._env.reader.elements_of(process or self.pid)

    def _window(self, process):
        """Returns the window of a process that has the focus, as GTK tells screen readers."""
        return window_of(self.elements(process))

    def tap(self, name, *roles, process=None):
        """Taps an element once it can be used and rests: a sheet that grows has moved it before it says so."""
        place = None

        def rests():
            nonlocal place
            before, place = place, self.until_named(name, *(roles or TAPPED), process=process)[3]
            return place == before

        self._env.waiting.until(f"{name!r} to rest", rests, LIMIT, pause=0.1)
        self._env.tap(place)

    def give_pin(self, pin=PIN, agree="Continue"):
        sheet = self.sheet()
        self.until_named(agree, "button", process=sheet)
        self._env.waiting.until("the field for the PIN to have the focus", lambda: any(
            "focused" in one[2] and one[1] == "PIN" for one in self.elements(sheet)), LIMIT)
        self.type(pin)
        self.press("Return")
        self._env.waiting.until("the sheet to go on", lambda: not any(
            one[0] == "button" and one[1] == agree for one in self.elements(sheet)), LIMIT)

    def color(self, place):
        """Returns red, green and blue of the left end of an element on the screen, from 0 to 255."""
        left, top, _, height = place
        picture = self._env.folder.path(f"{self._name}-color.png")
        self._env.screen.picture(picture)
        spot = f"2x2+{(left + 8) * SCALE}+{round((TOP + top + height / 2) * SCALE)}"
        said = brief(["convert", str(picture), "-crop", spot, "-format",
                      " ".join(f"%[fx:round(255*mean.{part})]" for part in "rgb"), "info:"],
                     environment=self._env.environment)
        return tuple(map(int, said.stdout.split()))


class Listener(PhoneApp):
    """A run of hybrid-auth listen, as by the user's unit, and the sheets that it opens while the app is closed."""

    def __init__(self, env, name):
        self._env, self._name = env, name
        self._program = env.command("listen")

    def __enter__(self):
        self._env.waiting.until("hybrid-auth to listen", lambda: "can wake this device" in self.said(), LIMIT)
        return self


def code_of(client):
    return re.findall(r"FIDO:/\d+", client.said())[-1]


def window_of(elements):
    """Returns the window that has the focus; None if none has."""
    return next((one for one in elements if one[0] in ("frame", "window", "dialog") and "active" in one[2]), None)
