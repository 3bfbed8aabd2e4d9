// SPDX-License-Identifier: Apache-2.0

import CaBLE
import FuzzInput

/// What opens under the fixed key is sealed again to the bytes that were heard.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzServiceData(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = fuzzInput(start, count)
    guard let secret = QRSecret(bytes: Array(0..<16)), let advert = Advert(serviceData: input) else { return 0 }
    invariant(advert.bytes == Array(input.prefix(20)), "an advert is the first 20 bytes")
    let key = secret.eidKey
    guard let eid = EID.open(advert, with: key, for: .linked) else {
        invariant(EID.open(advert, with: key) == nil, "after a QR no more opens than on a link")
        return 0
    }
    invariant(eid.sealed(with: key) == advert, "sealing is the inverse of opening")
    invariant((EID.open(advert, with: key) != nil) == (eid.domain != nil), "after a QR the relay must be known")
    return 0
}
