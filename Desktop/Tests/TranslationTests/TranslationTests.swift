// SPDX-License-Identifier: Apache-2.0

import HybridTranslation
import Testing

@Suite("Texts in the user's language")
struct TranslationTests {
    @Test("are English without a catalog")
    func english() {
        #expect(tr("Sign In") == "Sign In")
        #expect(tr("") == "")
        // A text that is longer than those that Swift stores in the value itself.
        let long = "From the code you scanned, made {age} ago"
        #expect(tr(long, ["age": "4 seconds"]) == "From the code you scanned, made 4 seconds ago")
        #expect(tr("{count} attempt left", plural: "{count} attempts left", count: 1) == "1 attempt left")
        #expect(tr("{count} attempt left", plural: "{count} attempts left", count: 3) == "3 attempts left")
        #expect(tr("{count} attempt left", plural: "{count} attempts left", count: 0) == "0 attempts left")
    }

    @Test("are filled with values, in which nothing is replaced")
    func values() {
        #expect(tr("{who} at {site}", ["who": "{site}", "site": "{who}"]) == "{site} at {who}")
        #expect(tr("{who} {unknown} {", ["who": "ada"]) == "ada {unknown} {")
        #expect(tr("a { b } c", ["who": "ada"]) == "a { b } c")
    }

    @Test("come from the folder next to that of the program")
    func folder() {
        #expect(Translation.folder(ofProgram: "/usr/libexec/hybrid-ask") == "/usr/share/locale")
        #expect(Translation.folder(ofProgram: "/opt/a/bin/hybrid-ask") == "/opt/a/share/locale")
        #expect(Translation.folder(ofProgram: "hybrid-ask") == nil)
    }
}
