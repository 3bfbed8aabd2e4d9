// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// The address of a TPM, in the notation of the TCTI loader of libtss2.
///
/// Its operations block; call them on a dedicated thread. The kernel limits the time of each command on a device. A
/// simulator behind a socket, which only the user can name, is trusted to answer.
package struct TPMAddress: Hashable, Sendable {
    /// The kernel's resource manager, which flushes what a killed program leaves behind.
    package static let standard = TPMAddress(name: "device", address: "/dev/tpmrm0")

    private let name: String
    private let address: String?

    /// The address as the TCTI loader expects it, for example `device:/dev/tpmrm0`.
    package var configuration: String { address.map { "\(name):\($0)" } ?? name }

    private init(name: String, address: String?) {
        self.name = name
        self.address = address
    }

    /// Creates an address from the name of a TCTI, optionally followed by a colon and its configuration.
    ///
    /// Returns `nil` if the name has other characters than `a–z`, `0–9` and hyphens: the loader takes such a name for
    /// the path of a library.
    package init?(configuration: String) {
        let parts = configuration.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts.first, (1...32).contains(name.utf8.count), configuration.utf8.count <= 1024,
            name.utf8.allSatisfy({ (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }),
            configuration.utf8.allSatisfy({ $0 != 0 })
        else { return nil }
        self.init(name: String(name), address: parts.count > 1 ? String(parts[1]) : nil)
    }

    /// The path of the device, or the whole configuration of a simulator, for messages.
    var place: String { name == "device" ? address ?? "/dev/tpmrm0" : configuration }

    /// Opens and closes the device, because the stack reports all reasons as one error.
    ///
    /// - Throws: ``TPMError/absent(_:)``, ``TPMError/notPermitted(_:)`` or ``TPMError/busy``.
    func checkAccess() throws(TPMError) {
        guard name == "device" else { return }
        let descriptor = open(place, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor < 0 else {
            close(descriptor)
            return
        }
        switch errno {
        case EACCES, EPERM: throw .notPermitted(place)
        case EBUSY: throw .busy
        default: throw .absent(place)
        }
    }

    /// Prevents libtss2 from writing to standard error; call it before other threads run.
    ///
    /// A wrong PIN is an error to the library. A value that the user has set is kept.
    package static func silenceLibrary() { setenv("TSS2_LOG", "all+none", 0) }
}
