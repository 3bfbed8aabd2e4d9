// SPDX-License-Identifier: Apache-2.0

/// Rules for the text of host names.
package enum HostName {
    /// Returns true if the text is a valid host name of at most 253 characters.
    ///
    /// Each label has 1 to 63 letters, digits, `-` and `_`. The last label is not a number. With a last label such as
    /// `1` or `0x7f`, getaddrinfo(3) would read the name as an IPv4 address in a legacy form.
    package static func isValid(_ text: String) -> Bool {
        let labels = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard text.utf8.count <= 253, let last = labels.last else { return false }
        let areValid = labels.allSatisfy { label in (1...63).contains(label.count) && label.allSatisfy(isNameByte) }
        return areValid && !isNumber(last)
    }

    private static func isNumber(_ label: Substring.UTF8View) -> Bool {
        if label.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) { return true }
        return label.starts(with: "0x".utf8) || label.starts(with: "0X".utf8)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Returns true if a lower-case name is only meaningful within one network.
    ///
    /// Such a name is a single label, or is in a domain reserved for this purpose (RFC 6761, 6762, 8375, and ICANN for
    /// `internal`).
    package static func isLocal(_ name: String) -> Bool {
        guard name.utf8.contains(UInt8(ascii: ".")) else { return true }
        return ["localhost", "local", "internal", "home.arpa"].contains { name == $0 || name.hasSuffix("." + $0) }
    }
}
