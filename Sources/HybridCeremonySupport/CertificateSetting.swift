// SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import HybridCommandSupport
internal import HybridDataChannel
internal import HybridSession

extension Configuration {
    /// Reads the certificates that a setting names, before anybody waits for what can't be.
    ///
    /// Who named them elsewhere than on the command line does not see the path, so it is told where.
    public func checkCertificates(_ setting: Setting<String?>) throws(CommandFailure) {
        guard let path = try value(setting) else { return }
        do throws(TunnelError) {
            try TrustAnchors.check(path)
        } catch {
            if case .flag = source(of: setting) { throw CommandFailure(ClientFailure.relay(error)) }
            guard access(path, R_OK) == 0 else {
                throw failure(setting, "\(path) can't be read: \(String(cString: strerror(errno)))")
            }
            throw failure(setting, "\(path) can't be read as certificates (PEM); name another file")
        }
    }
}
