# SPDX-License-Identifier: Apache-2.0
"""The slot's format, read by tpm2-tools and by tpm2-pytss from its documentation."""
import json
import struct
from pathlib import Path

from tpm_environment import PIN
from harness.programs import brief
from harness.waiting import must
from slot import TPMSlot, device_secret, key_id

HELPER = Path(__file__).with_name("unseal_with_pytss.py")
# fixedTPM, fixedParent, userWithAuth; above all not noDA (bit 10), which would switch the counting off.
ATTRIBUTES = 1 << 1 | 1 << 4 | 1 << 6


def by_tools(environment, device, slot):
    """Unseals with tpm2-tools; returns the name of the storage key and the secret."""
    folder, tool = device.home, device.tpm.tool
    # TCG's template: two coordinates of 32 zero bytes. The tool reads the library's structure: a length in the byte
    # order of this machine and room for 128 bytes, twice.
    (folder / "unique").write_bytes((struct.pack("=H", 32) + bytes(128)) * 2)
    (folder / "public").write_bytes(slot.public)
    (folder / "private").write_bytes(slot.private)
    attributes = "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda|restricted|decrypt"
    tool("tpm2_createprimary", "-C", "o", "-G", "ecc256:aes128cfb", "-g", "sha256", "-a", attributes, "-u",
         str(folder / "unique"), "-c", str(folder / "parent"))
    device.tpm.flush()
    tool("tpm2_readpublic", "-c", str(folder / "parent"), "-n", str(folder / "name"))
    device.tpm.flush()
    tool("tpm2_load", "-C", str(folder / "parent"), "-u", str(folder / "public"), "-r", str(folder / "private"), "-c",
         str(folder / "object"))
    device.tpm.flush()
    tool("tpm2_unseal", "-c", str(folder / "object"), "-p", f"hex:{slot.authorization(PIN).hex()}", "-o",
         str(folder / "secret"))
    device.tpm.flush()
    return (folder / "name").read_bytes(), (folder / "secret").read_bytes()


def by_pytss(environment, device, slot):
    """Unseals with tpm2-pytss; returns the name of the storage key and the secret."""
    given = {"tcti": device.tpm.address, "public": slot.public.hex(), "private": slot.private.hex(),
             "authorization": slot.authorization(PIN).hex()}
    found = json.loads(brief(["/usr/bin/python3", str(HELPER)], environment=environment.folder.environment(),
                             text=json.dumps(given), seconds=environment.seconds).stdout)
    must(found["attributes"] == ATTRIBUTES, f"the object has the attributes {found['attributes']:#x}")
    return bytes.fromhex(found["name"]), bytes.fromhex(found["secret"])


def second_opinion(environment):
    """tpm2-tools and tpm2-pytss open the slot by the documented format and find the vault key."""
    device = environment.device_with_tpm()
    slot = TPMSlot((device.state / "tpm").read_bytes())
    must(slot.vault_id.hex() == device.state.name and slot.manufacturer == b"IBM\x00", "fields of the slot")
    secret = device_secret((device.state / "device").read_bytes())
    current = (device.state / "slots").read_bytes()[10:26]
    found = set()
    for tool in (by_tools, by_pytss):
        name, unsealed = tool(environment, device, slot)
        must(name == slot.parent_name, f"{tool.__name__}: the storage key is {name.hex()}, not {slot.parent_name.hex()}")
        key = slot.vault_key(PIN, unsealed, secret)
        must(key_id(key, slot.vault_id) == current, f"{tool.__name__}: another vault key")
        found.add(unsealed)
        hexadecimal = unsealed.hex()
    must(len(found) == 1, "the tools found different secrets")
    # These tools of ours encrypt the parameter; tpm2_unseal with a password does not, so only the log before it counts.
    must(device.tpm.traffic.count(hexadecimal) <= 1, "our program sent the secret in the clear")
    must(slot.authorization(PIN).hex() not in device.tpm.traffic.replace(hexadecimal, "")
         or device.tpm.traffic.count(slot.authorization(PIN).hex()) <= 1, "our program sent the authorization value")


def changed_slots(environment):
    """Each change of a byte of the slot is refused; the change of PIN renews all secrets."""
    device = environment.device_with_tpm()
    before = TPMSlot((device.state / "tpm").read_bytes())
    old = (device.state / "tpm").read_bytes()
    device.succeeds("change-pin", secrets=[PIN, "another horse"])
    after = TPMSlot((device.state / "tpm").read_bytes())
    for field in ("salt", "public", "private", "wrapped"):
        must(getattr(before, field) != getattr(after, field), f"the change of the PIN kept the field {field}")
    device.opens("another horse")
    # As documented: a backup of the old slot still opens with the old PIN on this TPM.
    (device.state / "tpm").write_bytes(old)
    device.opens(PIN)


CASES = {"tpm-second-opinion": second_opinion, "tpm-changed": changed_slots}
