# SPDX-License-Identifier: Apache-2.0
"""Opens a sealed object with tpm2-pytss, as docs/vault.md describes it.

Reads one JSON object from standard input and prints another. Debian's Python runs it: tpm2-pytss is a Debian package.
"""
import json
import sys

from tpm2_pytss import ESAPI, ESYS_TR, TPM2_ALG, TPM2_SE, TPMA_SESSION, TPMT_SYM_DEF
from tpm2_pytss.types import TPM2B_AUTH, TPM2B_PRIVATE, TPM2B_PUBLIC, TPM2B_SENSITIVE_CREATE, TPMA_OBJECT, TPMU_SYM_KEY_BITS
from tpm2_pytss.types import TPMU_SYM_MODE, TPMS_ECC_POINT, TPMT_PUBLIC, TPM2B_ECC_PARAMETER

# TCG's template of a storage key; its coordinates are 32 zero bytes.
STORAGE = TPM2B_PUBLIC(TPMT_PUBLIC.parse(
    "ecc256:aes128cfb", objectAttributes=TPMA_OBJECT.FIXEDTPM | TPMA_OBJECT.FIXEDPARENT
    | TPMA_OBJECT.SENSITIVEDATAORIGIN | TPMA_OBJECT.USERWITHAUTH | TPMA_OBJECT.NODA | TPMA_OBJECT.RESTRICTED
    | TPMA_OBJECT.DECRYPT))
STORAGE.publicArea.unique.ecc = TPMS_ECC_POINT(x=TPM2B_ECC_PARAMETER(bytes(32)), y=TPM2B_ECC_PARAMETER(bytes(32)))


def main():
    given = json.load(sys.stdin)
    with ESAPI(given["tcti"]) as esapi:
        parent, *_ = esapi.create_primary(TPM2B_SENSITIVE_CREATE(), STORAGE, ESYS_TR.OWNER)
        name = bytes(parent.get_name(esapi))
        public, _ = TPM2B_PUBLIC.unmarshal(bytes.fromhex(given["public"]))
        private, _ = TPM2B_PRIVATE.unmarshal(bytes.fromhex(given["private"]))
        loaded = esapi.load(parent, private, public)
        esapi.tr_set_auth(loaded, TPM2B_AUTH(bytes.fromhex(given["authorization"])))
        cipher = TPMT_SYM_DEF(algorithm=TPM2_ALG.AES, keyBits=TPMU_SYM_KEY_BITS(aes=128),
                              mode=TPMU_SYM_MODE(aes=TPM2_ALG.CFB))
        session = esapi.start_auth_session(tpm_key=parent, bind=ESYS_TR.NONE, session_type=TPM2_SE.HMAC,
                                           symmetric=cipher, auth_hash=TPM2_ALG.SHA256)
        esapi.trsess_set_attributes(session, TPMA_SESSION.ENCRYPT | TPMA_SESSION.CONTINUESESSION)
        secret = bytes(esapi.unseal(loaded, session1=session))
        for handle in (session, loaded, parent):
            esapi.flush_context(handle)
    attributes = int(public.publicArea.objectAttributes)
    print(json.dumps({"name": name.hex(), "secret": secret.hex(), "attributes": attributes}))


main()
