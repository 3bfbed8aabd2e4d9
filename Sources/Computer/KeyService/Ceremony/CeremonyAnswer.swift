// SPDX-License-Identifier: Apache-2.0

/// The answer of a ceremony that a phone has performed, as its process writes it.
///
/// The encoding is 1 byte length of the name ‖ name of the linked phone in UTF-8 ‖ CTAP response with its status byte. The
/// length is 0 if a phone has scanned the code.
package struct CeremonyAnswer: Hashable, Sendable {
    /// The CTAP response as received, with its status byte.
    package let response: [UInt8]
    /// The name of the linked phone that has answered; `nil` for a phone that has scanned the code.
    ///
    /// It may differ from the phone that the user has named, because the code appears if that one does not answer.
    package let phone: String?

    /// Creates an answer.
    ///
    /// - Parameters:
    ///   - response: The CTAP response with its status byte.
    ///   - phone: The name of the linked phone, 1 to 255 bytes; `nil` for a phone that has scanned the code.
    package init(response: [UInt8], phone: String?) {
        (self.response, self.phone) = (response, phone)
    }

    /// The encoding.
    package var encoded: [UInt8] {
        let name = Array((phone ?? "").utf8.prefix(Int(UInt8.max)))
        return [UInt8(name.count)] + name + response
    }

    /// Creates an answer from its encoding; `nil` if the name is damaged or there is no response.
    package init?(parsing bytes: [UInt8]) {
        guard let count = bytes.first.map({ Int($0) }), bytes.count > 1 + count,
            let name = String(validating: bytes[1..<1 + count], as: UTF8.self)
        else { return nil }
        (response, phone) = (Array(bytes[(1 + count)...]), name.isEmpty ? nil : name)
    }
}
