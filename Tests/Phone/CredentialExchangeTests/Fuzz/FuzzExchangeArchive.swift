// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import HybridCredentialExchange

/// Fuzzes archives: files have the stated size within the limit, paths are safe, and the document is one of the files.
func fuzzExchangeArchive(_ input: [UInt8]) throws -> Bool {
    let limit = 1 << 16
    guard let archive = try? ZipArchive(input) else { return false }
    try invariant(archive.entries.count <= input.count / 46, "no more entries than headers")
    try invariant(Set(archive.entries.map(\.path)).count == archive.entries.count, "each path once")
    var contents: Set<[UInt8]> = []
    for entry in archive.entries {
        let components = entry.path.split(separator: "/", omittingEmptySubsequences: false)
        try invariant(!entry.path.hasPrefix("/") && !components.contains(".."), "a path stays in its folder")
        guard let content = try? archive.read(entry, atMost: limit) else { continue }
        try invariant(content.count == entry.size && content.count <= limit, "a file has the stated size")
        contents.insert(content)
    }
    switch Result(catching: { () throws(ExchangeFile.ParseError) in try ExchangeArchive.document(in: input) }) {
    case .success(let document):
        try invariant(document.count > limit || contents.contains(document), "the document is a file of the archive")
        return true
    case .failure(let error):
        try invariant(!error.reason.isEmpty && error.reason.utf8.count <= 200, "a reason is short")
        return false
    }
}
