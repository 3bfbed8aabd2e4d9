// SPDX-License-Identifier: Apache-2.0

internal import CHybridSystemd
internal import Glibc
internal import HybridPrimitives
internal import HybridProgram

/// The program `hybrid-uhid`, which creates the virtual security key for `hybrid-key`.
///
/// It is the only program of the project with access to `/dev/uhid`, which could also create keyboards. So it contains
/// as little as possible, and links no package.
@main
struct HybridUHID {
    static func main() {
        ProcessMemory.protect()
        StandardStreams.prepare()
        do throws(CommandFailure) {
            switch Array(CommandLine.arguments.dropFirst()) {
            case []: try serve()
            case ["--version"]: try StandardOutput.writeLine(ProductVersion.text)
            default: throw CommandFailure("the only option is --version; see hybrid-uhid(8)", status: .usage)
            }
        } catch {
            error.exit(program: "hybrid-uhid")
        }
    }

    private static func serve() throws(CommandFailure) {
        // The first descriptor that the service manager passes is 3.
        guard sd_listen_fds(1) == 1, sd_is_socket(3, AF_UNIX, CInt(SOCK_SEQPACKET.rawValue), 1) > 0 else {
            throw CommandFailure("no socket from the service manager; start hybrid-uhid.socket instead", status: .usage)
        }
        StandardError.neverBlock(program: "hybrid-uhid")
        let listed = getenv("HYBRID_UHID_USERS").map { String(cString: $0) } ?? ""
        let server = DeviceServer(
            listener: OwnedDescriptor(3),
            policy: PeerPolicy(listed: listed),
            serialNumber: serialNumber
        ) { StandardError.writeLine($0) }
        server.serve(idleLimit: 60_000)
    }

    /// A number of this installation, from which the machine ID can't be derived; random if there is no machine ID.
    private static var serialNumber: String {
        // Any constant; it separates this use of the machine ID from others.
        let purpose: [UInt8] = [
            0x8F, 0x2B, 0x61, 0xC4, 0x0E, 0xD7, 0x4A, 0x95, 0xB3, 0x1C, 0x7F, 0x58, 0xE2, 0x96, 0x0D, 0xA4,
        ]
        var (application, number) = (sd_id128_t(), sd_id128_t())
        withUnsafeMutableBytes(of: &application) { $0.copyBytes(from: purpose) }
        if sd_id128_get_machine_app_specific(application, &number) < 0 { sd_id128_randomize(&number) }
        return withUnsafeBytes(of: number) { Hex.encode(Array($0)) }
    }
}
