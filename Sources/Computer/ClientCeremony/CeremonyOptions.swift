// SPDX-License-Identifier: Apache-2.0

package import ArgumentParser
package import HybridBLEAdvert
package import HybridCommandSupport
package import HybridNetwork

/// The options of commands that perform ceremonies with a phone.
package struct CeremonyOptions: ParsableArguments {
    /// The certificates that are trusted in addition.
    @Option(CeremonySettings.cacert) package var cacert: String?

    /// The overrides of addresses, and the adapter.
    @OptionGroup
    package var network: NetworkOptions<AdapterName>

    /// True to offer a connection over Bluetooth; `nil` for the setting.
    @Flag(CeremonySettings.bleChannel) package var bleChannel: Bool?

    /// Creates options without values.
    package init() {}

    /// Returns the network configuration.
    ///
    /// - Throws: ``CommandFailure`` if a setting is unusable.
    package func networkConfiguration(_ settings: Configuration) throws -> NetworkConfiguration {
        NetworkConfiguration(
            connectTo: network.connectTo,
            trustedCertificates: try settings.value(CeremonySettings.cacert),
            proxies: ProxySettings(environment: ProcessEnvironment.variables)
        )
    }
}
