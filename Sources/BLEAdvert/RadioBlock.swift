// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A block that keeps an adapter from being turned on (rfkill).
public enum RadioBlock: Sendable, Equatable {
    /// Software such as a desktop's airplane mode has blocked the adapter; any program can unblock it.
    case soft
    /// A hardware switch or the firmware has blocked the adapter.
    case hard

    /// The directory in which Linux lists rfkill switches (Documentation/ABI/stable/sysfs-class-rfkill).
    static let kernelSwitches = "/sys/class/rfkill"

    /// Creates the block of an adapter from the kernel's switches; `nil` if no switch blocks the adapter.
    init?(of adapter: AdapterName, in folder: String) {
        guard let entries = opendir(folder) else { return nil }
        defer { closedir(entries) }
        var found: RadioBlock?
        while let entry = readdir(entries) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name.hasPrefix("rfkill"), Self.line("\(folder)/\(name)/name") == adapter.text else { continue }
            if Self.line("\(folder)/\(name)/hard") == "1" {
                found = .hard
            } else if Self.line("\(folder)/\(name)/soft") == "1" {
                found = found ?? .soft
            }
        }
        guard let found else { return nil }
        self = found
    }

    /// Returns the first line of a file of up to 64 bytes; `nil` if it cannot be opened.
    private static func line(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = max(0, read(descriptor, &buffer, buffer.count))
        return String(decoding: buffer.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
