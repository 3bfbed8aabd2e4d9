// SPDX-License-Identifier: Apache-2.0

import Testing

/// The entry point of all tests, with which a build needs no index to find them.
@main
struct TestEntryPoint {
    static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
