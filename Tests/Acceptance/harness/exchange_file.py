# SPDX-License-Identifier: Apache-2.0
"""Documents of the Credential Exchange Format with new passkeys, which a test imports."""
import base64
import secrets


def exchange_document(site, accounts, new_key):
    """Returns a document with a passkey for each account; `new_key` returns a private key as PKCS #8."""
    def text(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    def item(account):
        return {"id": text(secrets.token_bytes(16)), "title": site, "credentials": [{
            "type": "passkey", "credentialId": text(secrets.token_bytes(16)), "rpId": site, "username": account,
            "userDisplayName": account, "userHandle": text(account.encode()), "key": text(new_key())}]}

    return {"version": {"major": 1, "minor": 0}, "exporterRpId": "example.invalid", "exporterDisplayName": "test",
            "timestamp": 1, "accounts": [{"id": text(bytes(16)), "username": "", "email": "", "collections": [],
                                          "items": [item(account) for account in accounts]}]}
