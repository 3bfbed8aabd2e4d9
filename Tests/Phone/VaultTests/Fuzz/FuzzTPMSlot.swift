// SPDX-License-Identifier: Apache-2.0

import HybridTPM
import TestSupport

@testable import HybridVault

/// Fuzzes the slot that a TPM protects; the input is the file without its checksum.
func fuzzVaultTPMSlot(_ input: [UInt8]) throws -> Bool {
    try invariant(TPMSlot(bytes: input + [UInt8](repeating: 0, count: 32)) == nil, "the checksum is verified")
    let file = input + Sealing.checksum(input)
    guard let slot = TPMSlot(bytes: file) else { return false }
    try invariant(file.count <= TPMSlot.maximumLength && slot.bytes == file, "a slot is written back byte for byte")
    let lowest: UInt8 = slot.header.identity.isTest ? 10 : 15
    try invariant((lowest...20).contains(slot.header.scrypt.logN) && slot.header.scrypt.r == 8, "its cost is bounded")
    try invariant((1...4).contains(slot.header.scrypt.p), "its cost is bounded")
    // TPM2B_PUBLIC: keyedHash, SHA-256, fixedTPM, fixedParent and userWithAuth, without noDA.
    let area: [UInt8] = [0, 46, 0, 8, 0, 11, 0, 0, 0, 0x52, 0, 0, 0, 0x10, 0, 32]
    try invariant(Array(file[143..<159]) == area, "the TPM counts wrong values")
    try invariant(Int(file[191]) << 8 | Int(file[192]) == file.count - 285, "the private area has its own length")
    return true
}
