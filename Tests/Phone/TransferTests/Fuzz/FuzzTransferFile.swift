// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import HybridCTAP
@testable import HybridCredentialExchange
@testable import HybridPrimitives
@testable import HybridTransfer

/// Fuzzes files of transfers: an input is a request or a gift for the fixed request.
func fuzzTransferFile(_ input: [UInt8]) throws -> Bool {
    guard input.count <= 1 << 18 else { return false }
    let isRequest = try isAccepted { () throws(TransferFailure) in
        let read = try ReceivedRequest(parsing: input)
        _ = try SealedGift.seal(FuzzedTransfer.passkeys, for: read, name: read.name.description, time: 0)
    }
    var files: [ExchangeFile] = []
    let isGift = try isAccepted { () throws(TransferFailure) in
        files = try SealedGift(parsing: input).open(with: fixedRequest) { _ in }
    }
    try invariant(!(isRequest && isGift), "a file is a request or a gift, and not both")
    try invariant(files.reduce(0) { $0 + $1.count } <= TransferOffer.maximumCount, "a gift is bounded")
    return isRequest || isGift
}

private let fixedRequest = SealedRequest(
    name: "Ada",
    key: RequestKey(checked: [UInt8](repeating: 6, count: 32))
).pending

private func isAccepted(_ body: () throws(TransferFailure) -> Void) throws -> Bool {
    do throws(TransferFailure) {
        try body()
        return true
    } catch {
        try isExplained(error)
        return false
    }
}
