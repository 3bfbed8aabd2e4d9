// SPDX-License-Identifier: Apache-2.0

/// The name of the program in requests, in place of the one that depends on the program's file.
package enum UserAgent {
    package static let text = "fuzz/0"
    package static let line = "User-Agent: \(text)\r\n"
}
