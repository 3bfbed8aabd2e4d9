# SPDX-License-Identifier: Apache-2.0
"""Key algorithms of passkeys, and attestation with a manufacturer's certificate."""
import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.x509.oid import NameOID

ES256, EDDSA, RS256 = -7, -8, -257
BY_NAME = {"es256": ES256, "eddsa": EDDSA, "rs256": RS256}
# Certificate extension that contains the AAGUID.
MODEL = x509.ObjectIdentifier("1.3.6.1.4.1.45724.1.1.4")


def new_key(algorithm):
    if algorithm == EDDSA:
        return ed25519.Ed25519PrivateKey.generate()
    if algorithm == RS256:
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return ec.generate_private_key(ec.SECP256R1())


def stored(key):
    """Returns bytes from which `restored` recreates the key."""
    return key.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def restored(data):
    return serialization.load_der_private_key(data, None)


def cose_key(public_key):
    """Returns the public key as a COSE map."""
    if isinstance(public_key, ed25519.Ed25519PublicKey):
        return {1: 1, 3: EDDSA, -1: 6, -2: public_key.public_bytes_raw()}
    numbers = public_key.public_numbers()
    if isinstance(public_key, rsa.RSAPublicKey):
        return {1: 3, 3: RS256, -1: numbers.n.to_bytes(256, "big"), -2: numbers.e.to_bytes(3, "big")}
    return {1: 2, 3: ES256, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}


def sign(key, message):
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key.sign(message)
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(message, padding.PKCS1v15(), hashes.SHA256())
    return key.sign(message, ec.ECDSA(hashes.SHA256()))


def attest(aaguid, message):
    """Returns a packed attestation statement with the certificate that WebAuthn §8.2.1 requires."""
    key = new_key(ES256)
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.COUNTRY_NAME, "SE"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Counterpart"),
            x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "Authenticator Attestation"),
            x509.NameAttribute(NameOID.COMMON_NAME, "Counterpart phones"),
        ]
    )
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.UnrecognizedExtension(MODEL, b"\x04\x10" + aaguid), critical=False)
        .sign(key, hashes.SHA256())
    )
    x5c = [certificate.public_bytes(serialization.Encoding.DER)]
    return {"alg": ES256, "sig": sign(key, message), "x5c": x5c}
