// SPDX-License-Identifier: Apache-2.0

internal import HybridCommandSupport

extension KnownHosts {
    /// Creates the names from files; one that does not exist has none.
    ///
    /// - Parameters:
    ///   - paths: The paths of the files.
    ///   - maximumSize: The maximum size of a file in bytes.
    ///   - report: Called with a sentence for each file that exists but can't be used.
    package init(
        paths: [String],
        maximumSize: Int = KnownHosts.maximumSize,
        report: (String) -> Void
    ) {
        var files: [[UInt8]] = []
        for path in paths {
            do throws(FileReadError) {
                files.append(try readWholeFile(path, atMost: maximumSize))
            } catch {
                guard error != .missing else { continue }
                let advice = error == .tooLarge ? "; keep at most \(maximumSize >> 20) MiB there" : ""
                report("no names of hosts from \(path): \(error.sentence)\(advice)")
            }
        }
        self.init(files: files)
    }
}
