# SPDX-License-Identifier: Apache-2.0
"""libfido2, the library of ssh, pam_u2f and fido2-tools, as a client of the simulated device."""
import ctypes
from ctypes import CFUNCTYPE, byref, c_char_p, c_int, c_size_t, c_void_p, string_at

from device import REPORT, Gone
from harness.waiting import Failed

NAME = "libfido2.so.1"
ES256, FALSE, TRUE = -7, 1, 2

Open = CFUNCTYPE(c_void_p, c_char_p)
Close = CFUNCTYPE(None, c_void_p)
Read = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_int)
Write = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)


class Functions(ctypes.Structure):
    _fields_ = [("open", Open), ("close", Close), ("read", Read), ("write", Write)]


class LibFIDO2:
    """An open device of the library; its methods block until the device has answered."""

    def __init__(self, client):
        self._client, self._library = client, ctypes.CDLL(NAME)
        self._call("fido_init", 0, result=None)
        # The library stores the pointers only.
        self._functions = Functions(Open(lambda path: 1), Close(lambda handle: None), Read(self._read),
                                    Write(self._write))
        self._device = self._pointer("fido_dev_new")
        self._check("fido_dev_set_io_functions", self._device, byref(self._functions))
        self._check("fido_dev_open", self._device, b"simulated")
        if not self._call("fido_dev_is_fido2", self._device, result=ctypes.c_bool):
            raise Failed("expected a FIDO2 device; found another one")

    def _read(self, _, buffer, length, milliseconds):
        try:
            packet = self._client.read_packet() if milliseconds < 0 else self._client.read_packet(milliseconds / 1000)
        except (Failed, Gone):
            return -1
        ctypes.memmove(buffer, packet, length)
        return length

    def _write(self, _, buffer, length):
        # The first byte is the report number, which the kernel removes.
        data = string_at(buffer, length)
        if length != REPORT + 1 or data[0] != 0:
            return -1
        self._client.write_packet(data[1:])
        return length

    def create(self, relying_party, client_data_hash, user=bytes(32), excluded=()):
        """Returns the status of a registration, the ID of the credential and its key; OpenSSH's user is 32 zeros."""
        credential = self._pointer("fido_cred_new")
        self._check("fido_cred_set_type", credential, ES256)
        self._check("fido_cred_set_clientdata_hash", credential, client_data_hash, c_size_t(32))
        self._check("fido_cred_set_rp", credential, relying_party.encode(), None)
        self._check("fido_cred_set_user", credential, user, c_size_t(len(user)), b"openssh", b"openssh", None)
        for one in excluded:
            self._check("fido_cred_exclude", credential, one, c_size_t(len(one)))
        status = self._call("fido_dev_make_cred", self._device, credential, None)
        if status:
            return status, None, None
        point = self._content("cred_pubkey", credential)
        key = self._pointer("es256_pk_new")
        self._check("es256_pk_from_ptr", key, point, c_size_t(len(point)))
        return status, self._content("cred_id", credential), key

    def sign(self, relying_party, allowed, client_data_hash, presence=TRUE):
        """Returns the status of a sign-in and the assertion."""
        assertion = self._pointer("fido_assert_new")
        self._check("fido_assert_set_rp", assertion, relying_party.encode())
        self._check("fido_assert_set_clientdata_hash", assertion, client_data_hash, c_size_t(32))
        self._check("fido_assert_set_up", assertion, presence)
        for one in allowed:
            self._check("fido_assert_allow_cred", assertion, one, c_size_t(len(one)))
        return self._call("fido_dev_get_assert", self._device, assertion, None), assertion

    def verify(self, assertion, key):
        """Checks an assertion of one signature, which must prove that the user was verified."""
        self._check("fido_assert_set_uv", assertion, TRUE)
        self._check("fido_assert_verify", assertion, c_size_t(0), ES256, key)

    def ids(self, assertion):
        """Returns the credentials of an assertion."""
        number = self._call("fido_assert_count", assertion, result=c_size_t)
        return [self._content("assert_id", assertion, c_size_t(index)) for index in range(number)]

    def touch(self):
        """Asks the user to touch this key, as programs do that find several; returns after the touch."""
        touched = c_int(0)
        self._check("fido_dev_get_touch_begin", self._device)
        while not touched.value:
            self._check("fido_dev_get_touch_status", self._device, byref(touched), 1000)

    def cancel(self):
        self._check("fido_dev_cancel", self._device)

    def close(self):
        self._call("fido_dev_close", self._device)

    def _call(self, name, *arguments, result=c_int):
        function = self._library[name]
        function.restype = result
        return function(*arguments)

    def _pointer(self, name, *arguments):
        return c_void_p(self._call(name, *arguments, result=c_void_p))

    def _check(self, name, *arguments):
        status = self._call(name, *arguments)
        if status:
            raise Failed(f"expected {name} to succeed; it returned {status:#x}")

    def _content(self, name, *arguments):
        """Returns the bytes of a pair of functions for pointer and length."""
        start = self._pointer(f"fido_{name}_ptr", *arguments)
        return string_at(start, self._call(f"fido_{name}_len", *arguments, result=c_size_t))
