// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// What keeps an adapter from being switched on (rfkill).
public enum RadioBlock: Sendable, Equatable {
    /// A program, such as a desktop's aeroplane mode; another can undo it.
    case byProgram
    /// A switch of the machine, or its firmware.
    case bySwitch

    /// Where Linux shows its switches (Documentation/ABI/stable/sysfs-class-rfkill).
    static let kernelSwitches = "/sys/class/rfkill"

    /// Looks at the switches of the kernel; `nil` if none blocks this adapter.
    init?(of adapter: AdapterName, in folder: String) {
        guard let entries = opendir(folder) else { return nil }
        defer { closedir(entries) }
        var found: RadioBlock?
        while let entry = readdir(entries) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name.hasPrefix("rfkill"), Self.word("\(folder)/\(name)/name") == adapter.text else { continue }
            if Self.word("\(folder)/\(name)/hard") == "1" {
                found = .bySwitch
            } else if Self.word("\(folder)/\(name)/soft") == "1" {
                found = found ?? .byProgram
            }
        }
        guard let found else { return nil }
        self = found
    }

    /// The first line of a short file.
    private static func word(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = max(0, read(descriptor, &buffer, buffer.count))
        return String(decoding: buffer.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
