// SPDX-License-Identifier: Apache-2.0

import CTAP
import FuzzInput

/// Every body that an authenticator may send, told apart by the first byte.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzCTAPResponse(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = fuzzInput(start, count)
    guard let kind = input.first else { return 0 }
    let body = Array(input.dropFirst())
    switch kind {
    case 0:
        guard let response = try? MakeCredentialResponse(parsing: body) else { return 0 }
        let again = try? MakeCredentialResponse(parsing: response.encoded)
        invariant(again?.encoded == response.encoded, "a new credential reads back")
    case 1:
        guard let response = try? GetAssertionResponse(parsing: body) else { return 0 }
        let again = try? GetAssertionResponse(parsing: response.encoded)
        invariant(again?.encoded == response.encoded, "an assertion reads back")
    case 2:
        guard let info = try? AuthenticatorInfo(parsing: body) else { return 0 }
        let again = try? AuthenticatorInfo(parsing: info.encoded)
        invariant(again?.encoded == info.encoded, "a description reads back")
    case 3:
        guard let data = try? AuthenticatorData(parsing: body) else { return 0 }
        invariant(data.encoded == body, "what is signed is kept byte for byte")
    case 4:
        guard let object = try? AttestationObject(parsing: body) else { return 0 }
        let again = try? AttestationObject(parsing: object.encoded)
        invariant(again?.encoded == object.encoded, "an attestation object reads back")
    case 5:
        _ = try? COSEKey(parsing: body)
    default:
        guard let response = try? CTAPResponse(parsing: body) else { return 0 }
        invariant(response.encoded == body, "a response is status and body")
    }
    return 0
}
