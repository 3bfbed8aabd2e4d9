// SPDX-License-Identifier: Apache-2.0

internal import HybridClientCeremony
internal import HybridCommandSupport
internal import HybridDoctor
internal import HybridPrimitives
internal import HybridProgram
internal import HybridSession
internal import HybridThreads

/// The check of the linked phones; without them, a ceremony uses a code.
enum LinkChecks {
    /// Performs the check, and reports each damaged file.
    static func run() -> [DoctorFinding] {
        let damaged = Locked<[DoctorFinding]>([])
        do throws(CommandFailure) {
            let store = try LinkStore.ofUser { sentence in
                damaged.withLock { $0.append(DoctorFinding(.linkedPhones, .warning, sentence)) }
            }
            let names = try store.links().map(\.name.quoted).joined(separator: ", ")
            let found = names.isEmpty ? "there are none" : names
            return [DoctorFinding(.linkedPhones, .fine, found)] + damaged.withLock { $0 }
        } catch {
            return [DoctorFinding(.linkedPhones, .warning, error)]
        }
    }
}
