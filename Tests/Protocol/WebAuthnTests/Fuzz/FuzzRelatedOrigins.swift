// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridWebAuthn
import TestSupport

/// Checks that a permission is valid for one origin and one relying party ID, and never for localhost.
func fuzzRelatedOrigins(_ input: [UInt8]) throws -> Bool {
    let list: RelatedOrigins
    do throws(RelatedOrigins.ParseError) {
        list = try RelatedOrigins(json: input)
    } catch {
        return false
    }
    let id = try present(RelyingPartyID("party.example"), "the ID is a domain")
    var isPermitted = false
    for text in ["https://www.shop.example", "https://shop.co.uk:8443", "http://localhost:8080"] {
        let origin = try Origin(text)
        do {
            let permission = try list.permission(for: origin, id)
            try invariant(
                permission.origin == origin && permission.relyingPartyID == id,
                "the permission is the asked one"
            )
            let relyingParty = try? origin.relyingPartyID(claimed: id.text, related: permission)
            try invariant(relyingParty == id, "the permission is usable")
            let other = try? Origin("https://other.example").relyingPartyID(claimed: id.text, related: permission)
            try invariant(other == nil, "and by no other origin")
            try invariant(text != "http://localhost:8080", "localhost has no registrable domain")
            isPermitted = true
        } catch let error as RelyingPartyIDError {
            try isOneLine(error.sentence)
        }
    }
    return isPermitted
}
