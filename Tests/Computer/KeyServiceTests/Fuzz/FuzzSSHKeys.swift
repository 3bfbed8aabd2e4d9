// SPDX-License-Identifier: Apache-2.0

import HybridPrimitives
import TestSupport

@testable import HybridKeyService
@testable import HybridSSHAgent

/// Fuzzes lists of keys, requests to a ceremony, known_hosts, and messages for another agent.
///
/// The first byte selects one of them.
func fuzzSSHKeys(_ input: [UInt8]) throws -> Bool {
    guard let kind = input.first else { return false }
    let body = Array(input.dropFirst())
    return switch kind % 4 {
    case 0: try keyList(body)
    case 1: try ceremonyRequest(body)
    case 2: try knownHosts(body)
    default: try upstreamFrames(body)
    }
}

private func keyList(_ bytes: [UInt8]) throws -> Bool {
    guard let keys = try? SSHKeyList.keys(in: bytes) else { return false }
    try invariant(keys.count <= SSHKeyList.maximumCount, "a list is bounded")
    try invariant((try? SSHKeyList.keys(in: Array(SSHKeyList.text(keys).utf8))) == keys, "a list survives its text")
    return !keys.isEmpty
}

private func ceremonyRequest(_ bytes: [UInt8]) throws -> Bool {
    guard let request = CeremonyRequest(parsing: bytes) else { return false }
    let encoded = request.encoded
    let header = Array(encoded.prefix(CeremonyRequest.headerLength))
    let map = Array(encoded.dropFirst(CeremonyRequest.headerLength))
    guard let length = CeremonyRequest.length(header: header) else { return false }
    try invariant(length == map.count && CeremonyRequest(parsing: map) == request, "a request survives its encoding")
    return true
}

private func knownHosts(_ bytes: [UInt8]) throws -> Bool {
    let blob: [UInt8] = [0, 0, 0, 11] + "ssh-ed25519".utf8 + [0, 0, 0, 32] + [UInt8](repeating: 7, count: 32)
    guard let key = try? HostKey(parsing: blob) else { return false }
    let candidates = HostCandidates.names(inCommandLine: Array(bytes.prefix(64)))
    try invariant(candidates.allSatisfy(KnownHosts.isName), "a candidate is a name")
    guard let name = KnownHosts(files: [bytes]).name(of: key, candidates: candidates) else { return false }
    try invariant(KnownHosts.isName(name), "a name has visible characters only")
    return true
}

private func upstreamFrames(_ bytes: [UInt8]) throws -> Bool {
    var whole = UpstreamFrames()
    whole.append(bytes.prefix(whole.capacity))
    var messages: [[UInt8]] = []
    while let message = whole.next(), messages.count <= bytes.count {
        messages.append(message)
        _ = UpstreamFrames.destination(of: message) { $0.isEmpty }
        let merged = UpstreamFrames.merged(message, messages.first)
        try invariant(merged.count >= message.count, "a merged list keeps the own keys")
    }
    try invariant(messages.count <= bytes.count, "each message takes bytes")
    var single = UpstreamFrames()
    var taken: [[UInt8]] = []
    for byte in bytes.prefix(single.capacity) {
        single.append([byte])
        while let message = single.next() { taken.append(message) }
    }
    try invariant(taken == messages, "messages do not depend on the pieces")
    return !messages.isEmpty
}
