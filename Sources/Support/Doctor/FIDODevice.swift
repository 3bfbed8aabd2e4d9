// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import HybridCommandSupport

/// A FIDO device of the kernel, which programs open as `/dev/hidrawN`.
package struct FIDODevice: Hashable, Sendable {
    /// The name of the device file without its folder, such as `hidraw3`.
    package let name: String
    /// True for a virtual device of hybrid-uhid, which may belong to another user.
    package let isVirtual: Bool

    /// Returns all FIDO devices, sorted by name.
    ///
    /// - Parameter folder: The kernel's folder with an entry for each device.
    package static func all(in folder: String = "/sys/class/hidraw") -> [FIDODevice] {
        names(in: folder).sorted().compactMap { name in
            let device = "\(folder)/\(name)/device"
            guard let descriptor = try? readWholeFile("\(device)/report_descriptor", atMost: maximumDescriptor),
                isFIDO(reportDescriptor: descriptor)
            else { return nil }
            return FIDODevice(name: name, isVirtual: isVirtual(device))
        }
    }

    /// The path of the device file.
    package var path: String { "/dev/\(name)" }

    /// True if programs of this user can open the device.
    ///
    /// logind grants the active user of a seat the access to FIDO devices.
    package var isAccessible: Bool { access(path, R_OK | W_OK) == 0 }

    /// Maximum length of a report descriptor in the kernel.
    private static let maximumDescriptor = 4096

    private static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix("hidraw") { names.append(name) }
        }
        return names
    }

    /// Returns true if a path leads to a device of hybrid-uhid.
    ///
    /// The kernel chooses the place of a device, from the product that its creator names. Security keys in software of
    /// other projects can have the same vendor, 1209, so the product counts, too.
    private static func isVirtual(_ path: String) -> Bool {
        guard let resolved = realpath(path, nil) else { return false }
        defer { free(resolved) }
        return String(cString: resolved).contains("/devices/virtual/misc/uhid/0003:1209:CAB1.")
    }

    /// Returns true if a report descriptor selects the usage page of FIDO, F1D0.
    ///
    /// An item consists of a prefix, of which the two lowest bits are the length of its data, and 0, 1, 2 or 4 bytes
    /// (Device Class Definition for HID 1.11 §6.2.2). A device can send any bytes.
    static func isFIDO(reportDescriptor bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while let prefix = rest.popFirst() {
            var length = prefix & 3 == 3 ? 4 : Int(prefix & 3)
            if prefix == longItem {
                guard let size = rest.popFirst() else { return false }
                length = Int(size) + 1
            }
            guard rest.count >= length else { return false }
            let value = rest.prefix(length).reversed().reduce(0) { $0 << 8 | Int($1) }
            if prefix & 0xFC == usagePage, prefix != longItem, value == 0xF1D0 { return true }
            rest = rest.dropFirst(length)
        }
        return false
    }

    /// The prefix of an item whose length follows.
    private static let longItem: UInt8 = 0xFE
    /// The prefix of a global item that selects a usage page, without its length.
    private static let usagePage: UInt8 = 0x04
}
