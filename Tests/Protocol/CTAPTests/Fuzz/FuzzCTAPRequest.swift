// SPDX-License-Identifier: Apache-2.0

import HybridCBOR
import HybridCTAP
import TestSupport

/// Tests that the canonical encoding of a request decodes to the same request.
func fuzzCTAPRequest(_ input: [UInt8]) throws -> Bool {
    let kinds = Set(RelyingPartyID.Kind.allCases)
    let request: CTAPRequest
    do throws(CTAPRequestError) {
        request = try CTAPRequest(parsing: input, accepting: kinds)
    } catch {
        try invariant(error.status != .success, "an error does not have status success")
        try invariant(error.field?.contains(where: \.isNewline) != true, "a field's name is one line")
        return false
    }
    let encoded = request.encoded
    try invariant(try CTAPRequest(parsing: encoded, accepting: kinds) == request, "a request survives the round trip")
    try invariant(encoded.first == input.first, "the command is preserved")
    switch request {
    case .makeCredential(let request):
        try isCanonical(encoded)
        try invariant(request.relyingParty.name.utf8.count <= 1024, "names are bounded")
        try invariant(request.user.name.utf8.count <= 1024, "names are bounded")
    case .getAssertion(let request):
        try isCanonical(encoded)
        let length = request.signedData?.bytes.count ?? 1
        try invariant((1...SignedDataInput.maximumLength).contains(length), "stated data is bounded")
    case .getInfo, .selection:
        try invariant(encoded == input, "a bare command is one byte")
    }
    return true
}

private func isCanonical(_ encoded: [UInt8]) throws {
    let parameters = try? CBORDecoder.decode(encoded.dropFirst(), mode: .strict)
    try invariant(parameters?.map != nil, "the encoding is canonical, because phones end the session otherwise")
}
