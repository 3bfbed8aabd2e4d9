# SPDX-License-Identifier: Apache-2.0
"""Below bluetoothd: channels over Bluetooth LE, and a superuser's commands to kernel and controller.

The standard library's sockets support neither address types nor the kernel's management interface.
"""
import ctypes
import os
import socket
import struct
from pathlib import Path

LE_PUBLIC = 1
# Management interface: its channel, "no adapter", its response, and the command to block a device.
CONTROL, NO_INDEX, COMPLETE, BLOCK_DEVICE = 3, 0xFFFF, 0x0001, 0x0026
# HCI: a command, its event, and the commands that end all adverts, legacy and extended.
COMMAND, EVENT, COMMAND_COMPLETE = 1, 4, 0x0E
END_EXTENDED_ADVERTS, END_ADVERTS = (0x2039, b"\0\0"), (0x200A, b"\0")
SOL_HCI, HCI_FILTER = 0, 2
GET_FILE_OF_PROCESS = 438
LIBC = ctypes.CDLL(None, use_errno=True)
PATIENCE = 60


def _call(name, *arguments):
    """Returns the result of a C function; raises OSError for -1."""
    result = getattr(LIBC, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


def _raw(address):
    return bytes.fromhex(address.replace(":", ""))[::-1]


def _le(address, psm):
    return struct.pack("<HH6sHBx", socket.AF_BLUETOOTH, psm, _raw(address), 0, LE_PUBLIC)


def _channel(own):
    made = socket.socket(socket.AF_BLUETOOTH, socket.SOCK_SEQPACKET, socket.BTPROTO_L2CAP)
    name = _le(own, 0)
    _call("bind", made.fileno(), name, len(name))
    return made


def connected(own, peer, psm):
    """Opens a channel from an adapter's address to a device's."""
    made = _channel(own)
    name = _le(peer, psm)
    _call("connect", made.fileno(), name, len(name))
    return made


def listening(own):
    """Returns a socket that accepts channels on an adapter, and the number that the kernel assigned."""
    made = _channel(own)
    made.listen(4)
    name, length = ctypes.create_string_buffer(14), ctypes.c_uint(14)
    _call("getsockname", made.fileno(), name, ctypes.byref(length))
    return made, struct.unpack_from("<H", name, 2)[0]


def channels():
    """Returns the kernel's channels with dynamic numbers, including listening ones."""
    lines = [line.split() for line in Path("/sys/kernel/debug/bluetooth/l2cap").read_text().splitlines()]
    # Two addresses, each with its type, and the state precede the number.
    return [line for line in lines if 0x80 <= int(line[5], 0) <= 0xFF]


def stop_adverts(adapter):
    """Orders the controller to stop its adverts, without notice to bluetoothd or the advertising program."""
    with socket.socket(socket.AF_BLUETOOTH, socket.SOCK_RAW, socket.BTPROTO_HCI) as control:
        control.bind((int(adapter.removeprefix("hci")),))
        control.setsockopt(SOL_HCI, HCI_FILTER, struct.pack("<IIIHxx", 1 << EVENT, 1 << COMMAND_COMPLETE, 0, 0))
        control.settimeout(PATIENCE)
        statuses = []
        for number, data in (END_EXTENDED_ADVERTS, END_ADVERTS):
            control.send(struct.pack("<BHB", COMMAND, number, len(data)) + data)
            answered = None
            while answered != number:
                answer = control.recv(260)
                answered, status = struct.unpack_from("<HB", answer, 4) if len(answer) > 6 else (None, 0)
            statuses.append(status)
            if status == 0:
                return
    raise OSError(f"expected {adapter}'s controller to stop its adverts; found {statuses}")


def block(adapter, address):
    """Has the kernel break all links between a device and an adapter."""
    with socket.socket(socket.AF_BLUETOOTH, socket.SOCK_RAW, socket.BTPROTO_HCI) as control:
        name = struct.pack("<HHH", socket.AF_BLUETOOTH, NO_INDEX, CONTROL)
        _call("bind", control.fileno(), name, len(name))
        index = int(adapter.removeprefix("hci"))
        control.settimeout(PATIENCE)
        control.send(struct.pack("<HHH", BLOCK_DEVICE, index, 7) + _raw(address) + bytes([LE_PUBLIC]))
        while True:
            answer = control.recv(512)
            event, of, _ = struct.unpack_from("<HHH", answer)
            if of == index and event <= 2 and struct.unpack_from("<H", answer, 6)[0] == BLOCK_DEVICE:
                if event != COMPLETE or answer[8]:
                    raise OSError(f"expected {adapter} to block {address}; found {answer.hex()}")
                return


def close_listeners(process):
    """Shuts down a process's listening sockets for channels; returns their number."""
    closed = 0
    handle = os.pidfd_open(process)
    try:
        for number in map(int, os.listdir(f"/proc/{process}/fd")):
            taken = LIBC.syscall(GET_FILE_OF_PROCESS, handle, number, 0)
            if taken < 0:
                continue
            try:
                if os.readlink(f"/proc/self/fd/{taken}").startswith("socket:"):
                    closed += _close_if_listening(taken)
            finally:
                os.close(taken)
    finally:
        os.close(handle)
    return closed


def _close_if_listening(number):
    with socket.socket(fileno=os.dup(number)) as its:
        if its.family != socket.AF_BLUETOOTH:
            return False
        try:
            its.getpeername()
        except OSError:
            its.shutdown(socket.SHUT_RDWR)  # A socket without a peer is a listening one.
            return True
        return False
