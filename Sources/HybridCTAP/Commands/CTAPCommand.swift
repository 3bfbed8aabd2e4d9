// SPDX-License-Identifier: Apache-2.0

/// First byte of a request: the commands that have a place in a hybrid ceremony (CTAP 2.2 §6).
public enum CTAPCommand: UInt8, CaseIterable, Sendable {
    /// `authenticatorMakeCredential`.
    case makeCredential = 0x01
    /// `authenticatorGetAssertion`.
    case getAssertion = 0x02
    /// `authenticatorGetInfo`; phones send its answer right after the handshake without being asked.
    case getInfo = 0x04
    /// `authenticatorSelection`; phones drop the connection on it, so a client never sends it.
    case selection = 0x0B
}
