// SPDX-License-Identifier: Apache-2.0

internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridDoctor
internal import HybridKeyService
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSecurityKey
internal import HybridThreads

/// The virtual security key beside the agent of a service.
struct SecurityKeyService {
    private let server: SecurityKeyServer

    /// Starts the key.
    ///
    /// Without it, the agent still serves, so a failure is only reported.
    ///
    /// - Parameter launcher: The launcher of ceremonies.
    static func start(_ launcher: CeremonyLauncher) -> SecurityKeyService? {
        do {
            let server = try SecurityKeyServer(
                helperPath: SecurityKeyInspection.helperPath,
                in: try KeySettings.stateFolder(),
                otherKeyExists: { FIDODevice.all().contains { !$0.isVirtual } },
                launcher: launcher,
                version: version,
                seconds: 100,
                report: HybridKey.report
            )
            guard DedicatedThread.start({ server.serve() }) else {
                throw CommandFailure("no threads left", status: .unavailable)
            }
            return SecurityKeyService(server: server)
        } catch {
            HybridKey.report("no security key: \((error as? CommandFailure)?.sentence ?? "\(error)")")
            return nil
        }
    }

    /// Removes the key from the computer.
    func stop() { server.stop() }

    /// The version of the product as that of a device.
    private static var version: CTAPHIDDeviceVersion {
        var parts: [UInt8] = ProductVersion.text.split(separator: ".").map { UInt8($0.prefix { $0.isNumber }) ?? 0 }
        parts += [0, 0, 0]
        return CTAPHIDDeviceVersion(major: parts[0], minor: parts[1], build: parts[2])
    }
}
