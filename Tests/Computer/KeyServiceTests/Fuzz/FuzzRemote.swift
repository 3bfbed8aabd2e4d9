// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import TestSupport

@testable import HybridKeyService
@testable import HybridSSHAgent

/// Fuzzes messages of other hosts and of browsers, answers of agents and ceremonies, and permissions.
///
/// The first byte selects one of them.
func fuzzRemote(_ input: [UInt8]) throws -> Bool {
    guard let kind = input.first else { return false }
    let body = Array(input.dropFirst())
    return switch kind % 5 {
    case 0: try message(body)
    case 1: try answer(body)
    case 2: try carrier(body)
    case 3: try permissions(body)
    default: try websiteRequest(body)
    }
}

private func message(_ bytes: [UInt8]) throws -> Bool {
    guard let message = try? RemoteMessage(parsing: bytes) else { return false }
    try invariant(message.publicKey.isObject, "the options are an object")
    let encoded = message.encoded
    // Escapes make JSON longer.
    guard encoded.count <= RemoteMessage.maximumLength else { return true }
    let again = try? RemoteMessage(parsing: encoded)
    try invariant(again?.encoded == encoded, "a message is read as it was written")
    try invariant(again?.origin == message.origin && again?.topOrigin == message.topOrigin, "its origins stay")
    return true
}

private func answer(_ bytes: [UInt8]) throws -> Bool {
    guard let answer = RemoteAnswer(parsing: bytes) else {
        try invariant(WebsiteAnswer(parsing: [UInt8(ascii: "\n")] + bytes) == nil, "a result has an answer")
        return false
    }
    let encoded = answer.encoded
    guard encoded.count <= RemoteMessage.maximumLength else { return true }
    try invariant(RemoteAnswer(parsing: encoded)?.encoded == encoded, "an answer is read as it was written")
    let result = WebsiteAnswer(parsing: WebsiteAnswer(answer, cause: "x").encoded)
    try invariant(result?.answer.encoded == encoded && result?.cause == "x", "so is a result")
    return true
}

private func carrier(_ bytes: [UInt8]) throws -> Bool {
    let isListed = RemoteCarrier.isListed(in: bytes)
    try invariant(!isListed || bytes.first == 29, "only a list lists")
    if let length = RemoteCarrier.length(header: Array(bytes.prefix(4))) {
        try invariant((1...256 * 1024).contains(length), "a length is bounded")
    }
    return RemoteCarrier.answer(in: bytes) != nil || isListed
}

private func permissions(_ bytes: [UInt8]) throws -> Bool {
    guard let permissions = try? RemotePermissions(parsing: bytes) else { return false }
    let again = try? RemotePermissions(parsing: Array(permissions.text.utf8))
    try invariant(again == permissions, "permissions are read as they were written")
    for site in permissions.sites {
        let decision = permissions.decision(site.host, site.relyingParty, isCreation: true, wantsSecret: false)
        try invariant(decision == .ask(permanent: false), "a registration is always asked for")
    }
    return !permissions.hosts.isEmpty
}

private func websiteRequest(_ bytes: [UInt8]) throws -> Bool {
    guard let request = WebsiteRequest(parsing: bytes) else { return false }
    let map = request.map
    try invariant(WebsiteRequest(parsing: map)?.map == map, "a request survives its encoding")
    try invariant((1...3600).contains(request.seconds), "its time limit is bounded")
    return true
}
