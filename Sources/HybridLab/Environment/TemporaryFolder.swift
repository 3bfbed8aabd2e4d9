// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import HybridCommandSupport
internal import HybridPrimitives
internal import HybridProgram

/// Runs `body` with the path of a folder that only this user can read, and removes it.
func withTemporaryFolder<Result: Sendable>(
    isolation: isolated (any Actor)? = #isolation,
    _ body: (String) async throws -> Result
) async throws -> Result {
    let base = ProcessEnvironment.variables["TMPDIR"] ?? "/tmp"
    var template = Array("\(base)/hybrid-lab-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
        throw CommandFailure("cannot create a folder in \(base): \(String(cString: strerror(errno)))", status: .ioError)
    }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try await body(path)
}
