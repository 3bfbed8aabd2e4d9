// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("The targets and the table of ARCHITECTURE.md", .timeLimit(.minutes(10)))
struct TargetTests {
    let package: PackageDescription
    let table: TargetTable

    init() async throws {
        package = try await PackageDescription.read()
        table = try TargetTable.read()
    }

    @Test("list the same libraries")
    func sameTargets() {
        #expect(package.libraries.count >= 15)
        #expect(table.rows.map(\.target).sorted() == package.libraries.map(\.name).sorted())
    }

    @Test("agree on dependencies")
    func sameDependencies() throws {
        for library in package.libraries {
            let row = try #require(table[library.name], "\(library.name) is not in the table")
            #expect(
                library.local.subtracting(row.mayImport) == [],
                "\(library.name) depends on more than the table says"
            )
            #expect(
                row.mayImport.subtracting(library.local) == [],
                "the table allows unused dependencies of \(library.name)"
            )
        }
    }

    @Test("have dependencies on earlier targets only")
    func order() {
        let systemLibraries = Set(package.targets.filter { $0.kind == "system" }.map(\.name))
        var above = systemLibraries
        for row in table.rows {
            #expect(row.mayImport.subtracting(above) == [], "\(row.target) depends on a later row")
            above.insert(row.target)
        }
        above = systemLibraries
        for library in package.libraries {
            #expect(library.local.subtracting(above) == [], "\(library.name) depends on a later target")
            above.insert(library.name)
        }
    }

    @Test("depend on no program, and on no tests; a program's own tests are the exception")
    func leaves() {
        let leaves = Set(package.targets.filter { $0.kind == "executable" || $0.kind == "test" }.map(\.name))
        #expect(leaves.count > 10)
        for target in package.targets {
            #expect(
                target.local.subtracting([target.name.replacing("Tests", with: "")]).isDisjoint(with: leaves),
                "\(target.name)"
            )
        }
    }

    @Test("use test support in tests only")
    func testSupport() throws {
        #expect(package["TestSupport"] != nil)
        for target in package.targets where target.kind != "test" && !target.name.hasSuffix("TestSupport") {
            #expect(!target.local.contains { $0.hasSuffix("TestSupport") }, "\(target.name)")
        }
    }

    @Test("have no network or console packages in pure libraries")
    func externals() throws {
        let pure = [
            "HybridPrimitives", "HybridThreads", "HybridProgram", "HybridCBOR", "HybridCTAP", "HybridSecurityKey",
            "HybridCaBLE", "HybridAge", "HybridSSHAgent", "HybridWebAuthn", "HybridAuthenticator",
            "HybridCredentialExchange", "HybridTransfer", "HybridVault", "HybridSession", "HybridQRCode",
            "HybridQRScanning", "HybridDesktopPortal", "HybridPinentry", "HybridAsk",
        ]
        for name in pure {
            let target = try #require(package[name])
            let allowed: Set<String> = ["Crypto", "CryptoExtras"]
            #expect(target.external.subtracting(allowed) == [], "\(name)")
        }
        for target in package.targets where target.kind == "regular" && target.name != "HybridRelyingParty" {
            #expect(
                target.external.isDisjoint(with: ["X509", "SwiftASN1"]),
                "only attestation and the lab use certificates"
            )
        }
    }

    @Test("are read correctly: the reader of the table recognizes rows and lists only")
    func tableReader() {
        let table = TargetTable(
            markdown: """
                | target | may import | holds |
                |---|---|---|
                | `A` | | nothing |
                | `B` | A, CLib | two |
                | C | A | no target |
                `D` | A | no row |
                """
        )
        #expect(
            table.rows == [
                TargetTable.Row(target: "A", mayImport: []), TargetTable.Row(target: "B", mayImport: ["A", "CLib"]),
            ]
        )
    }
}
