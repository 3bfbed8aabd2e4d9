// SPDX-License-Identifier: Apache-2.0

public import HybridSystemBus

/// The bus of a desktop session.
public enum SessionBus {
    /// Where it listens: `DBUS_SESSION_BUS_ADDRESS`, else the usual socket in `XDG_RUNTIME_DIR`; `nil` if neither is
    /// set.
    public static func address(_ environment: [String: String]) -> BusAddress? {
        if let address = environment["DBUS_SESSION_BUS_ADDRESS"], !address.isEmpty { return BusAddress(address) }
        guard let folder = environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/") else { return nil }
        return BusAddress("unix:path=\(folder)/bus")
    }
}
