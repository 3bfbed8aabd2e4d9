// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport

/// The settings of `serve` with the same flags.
extension RelayOptions: CheckedSettings {
    static var checkConfigDiscussion: String {
        """
        Reads what serve would read and fails with the same errors, but does not listen. Listening addresses may be \
        missing, because a service manager may pass sockets.
        """
    }

    func checkedConfiguration() throws -> Configuration {
        let configuration = try resolved()
        let files = try RelayFiles(configuration)
        _ = try files.transport()
        _ = try files.tunnelTokens()
        _ = try RelayPlan.listeners(configuration, files)
        _ = try RelayPlan.node(configuration)
        _ = try RelayPlan.adminAddress(configuration)
        return configuration
    }
}
