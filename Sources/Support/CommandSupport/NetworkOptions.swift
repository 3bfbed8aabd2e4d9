// SPDX-License-Identifier: Apache-2.0

package import ArgumentParser
package import HybridPrimitives

/// The options for the Bluetooth adapter and the addresses of a ceremony.
///
/// The type of the adapter's name is a parameter, so that this module, and therefore the relay, needs no Bluetooth.
package struct NetworkOptions<Adapter: LosslessStringConvertible & Sendable>: ParsableArguments, Sendable {
    /// Overrides of addresses.
    @Option(
        help: ArgumentHelp("Connect elsewhere (like curl --connect-to).", valueName: "host:port:host2:port2"),
        transform: ConnectTo.argument
    )
    package var connectTo: [ConnectTo] = []

    /// The adapter; by default the first that is on.
    @Option(
        help: ArgumentHelp("The Bluetooth adapter.", valueName: "hciN"),
        transform: { text in
            guard let name = Adapter(text) else { throw ValidationError("--adapter takes a name such as hci0.") }
            return name
        }
    )
    package var adapter: Adapter?

    /// Creates options without values.
    package init() {}
}

extension ConnectTo {
    /// Reads the value of `--connect-to`.
    ///
    /// - Throws: `ValidationError`.
    package static func argument(_ text: String) throws -> ConnectTo {
        guard let override = ConnectTo(text) else {
            throw ValidationError("--connect-to takes HOST:PORT:HOST2:PORT2.")
        }
        return override
    }
}
