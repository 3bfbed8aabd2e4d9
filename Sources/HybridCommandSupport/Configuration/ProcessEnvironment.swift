// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// The variables with which this process was started.
public enum ProcessEnvironment {
    /// Every variable by its name; the first of those that are there twice, as getenv(3) has it.
    public static var variables: [String: String] {
        var variables: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            // By bytes: a value may begin with a mark that makes one character of itself and the `=`.
            let bytes = UnsafeBufferPointer(start: text, count: strlen(text)).lazy.map(UInt8.init(bitPattern:))
            let parts = bytes.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map { String(decoding: $0, as: UTF8.self) }
            if parts.count == 2, variables[parts[0]] == nil { variables[parts[0]] = parts[1] }
            entry += 1
        }
        return variables
    }
}
