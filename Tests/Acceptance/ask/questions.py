# SPDX-License-Identifier: Apache-2.0
"""Questions of hybrid-auth, one of each kind."""

SITE = {"rpId": "example.com", "site": "domain", "operation": "sign-in", "relay": "cable.example", "codeAge": 4,
        "timeout": 60}
ADA, BOB = {"name": "ada@example.com", "displayName": "Ada Lovelace"}, {"name": "bob", "displayName": ""}
PATH = {"path": "/home/ada/.local/share/hybrid/vault", "timeout": 120}
GROUPS = ["A7K2M", "9QXTW", "HB4ZR", "C0V8N", "5JDPE", "G3YSF"]

PIN = {"kind": "pin", **SITE}
ACCOUNT = {"kind": "account", **SITE, "accounts": [ADA]}
ACCOUNTS = {"kind": "account", **SITE, "accounts": [ADA, BOB]}
NEW_PIN = {"kind": "new-pin", "minimum": 4, "purpose": "create-vault", **PATH}
RECOVERY_CODE = {"kind": "recovery-code", "groups": GROUPS, **PATH}

# The kind of each question, an element that it must have, and the label of the button that agrees.
KINDS = {
    "new-pin": (NEW_PIN, "Choose a PIN for your passkeys", "Set PIN"),
    "pin": (PIN, "Sign in to this site?", "Continue"),
    "pin-purpose": ({"kind": "pin", "purpose": "export", **PATH},
                    "Write all passkeys to a file, with their keys in the clear?", "Continue"),
    "account": (ACCOUNT, "Sign in as this account?", "Sign In"),
    "accounts": (ACCOUNTS, "Sign in as which account?", "Sign In"),
    "create": ({"kind": "create", **SITE, "operation": "create", "account": ADA, "replaces": []},
               "Save a passkey for this account?", "Save"),
    "replace": ({"kind": "create", **SITE, "operation": "create", "account": ADA, "replaces": [ADA, BOB]},
                "Replace 2 passkeys?", "Replace"),
    "notice": ({"kind": "notice", **SITE, "notice": "no-passkey"}, "This device has no passkey that this site accepts.",
               "OK"),
    "link": ({"kind": "link", "relay": "cable.example", "timeout": 60},
             "Link this device with the computer that shows the code?", "Link"),
    "opened-link": ({"kind": "opened-link", "relay": "cable.example", "codeAge": 500, "warnings": ["old-code"],
                     "timeout": 60}, "A link asks this device to sign in on another one.", "Continue"),
    "delete": ({"kind": "delete", "rpId": "example.com", "site": "domain", "account": ADA,
                "passkey": "f738aa0011223344", "timeout": 120}, "Delete the passkey of this account permanently?",
               "Delete"),
    "recovery-code": (RECOVERY_CODE, "Write down this recovery code", "Written Down"),
    "secret": ({"kind": "secret", "purpose": "join", **PATH}, "Open this vault on this device?", "Continue"),
    "new-secret": ({"kind": "new-secret", "minimumBits": 60, **PATH}, "Choose a passphrase for this vault",
                   "Set Passphrase"),
    "question": ({"kind": "question", "text": "This vault's key is new to this device\n\n\"/home/ada/vault\"\n\n"
                  "12345 67890 12345 67890 12345 67890\n\nCompare these digits with a device that has the vault "
                  "already. If they differ, cancel: someone who knows an earlier secret of the vault has put their own "
                  "key there.", "agree": "It is the same", "timeout": 600},
                 "This vault's key is new to this device", "It is the same"),
}


def ask(number, question):
    return {"ask": number, **question}
