// SPDX-License-Identifier: Apache-2.0

import HybridPasskeysModel
import Testing

@Suite("The first start")
struct WelcomeModelTests {
    private let relay =
        #"{"name":"tunnel-domain","value":"4711","source":"file","file":"/etc/hybrid/auth.env","line":1}"#

    @Test("goes through all steps")
    func story() {
        var model = WelcomeModel(existing: nil)
        #expect(model.step == .introduction && model.choice == .code)
        model.next()
        #expect(model.step == .relay && !model.canContinue)
        model.next()
        #expect(model.step == .relay)
        model.begin()
        #expect(model.relay == .checking && model.isBusy)
        model.receive(.state("works", operation: nil))
        #expect(model.relay == .works)
        model.receive(.state("saved", operation: nil))
        #expect(!model.canContinue)
        model.end(status: 0)
        #expect(model.relay == .saved && model.step == .relay && model.canContinue)
        model.next()
        #expect(model.step == .pin)
        model.begin()
        model.end(status: 0)
        #expect(model.step == .recovery)
        model.begin()
        model.end(status: 0)
        #expect(model.step == nil)
    }

    @Test("is done after a backup has been restored")
    func restore() {
        var model = WelcomeModel(existing: nil)
        model.begin()
        model.endRestore()
        #expect(model.step == nil && !model.isBusy)
    }

    @Test("uses the relay of the distribution")
    func distribution() throws {
        let setting = try #require(RelaySetting(settingsOutput: line("[\(relay)]")))
        #expect(setting.name == "4711" && setting.isOfDistribution)
        var model = WelcomeModel(existing: setting)
        #expect(model.choice == .distribution && model.relay == .preset)
        model.next()
        #expect(model.canContinue)
        model.choose(.name)
        #expect(model.choice == .name && !model.canContinue)
        model.choose(.distribution)
        #expect(model.canContinue)
        let own = relay.replacing("/etc/hybrid", with: "/home/ada/.config/hybrid")
        #expect(RelaySetting(settingsOutput: line("[\(own)]"))?.isOfDistribution == false)
    }

    @Test(
        "finds no relay where none is",
        arguments: [
            "", "[]", "{}", #"[{"name":"tunnel-domain","value":null,"source":"default"}]"#,
            #"[{"name":"vault","value":"4711"}]"#, #"[{"name":"tunnel-domain","value":["4711"]}]"#, "[7]",
            #"[{"name":"tunnel-domain","value":"\u200b"}]"#,
        ]
    )
    func noRelay(text: String) { #expect(RelaySetting(settingsOutput: line(text)) == nil) }

    @Test("keeps its step after a failure")
    func failure() {
        var model = WelcomeModel(existing: nil)
        model.next()
        model.begin()
        model.receive(.failure(AuthFailure(code: "relay-unreachable")))
        model.end(status: 69)
        #expect(model.step == .relay && !model.canContinue && model.failure?.code == "relay-unreachable")
        #expect(model.relay.text == "The relay can't be reached. Check the network, then try again.")
        model.begin()
        #expect(model.failure == nil)
        model.end(status: 0)
        model.next()
        model.begin()
        model.receive(.failure(AuthFailure(code: "declined")))
        model.end(status: 77)
        #expect(model.step == .pin && model.failure == nil && model.canContinue)
    }

    @Test("ignores ends of helpers that it has not started")
    func late() {
        var model = WelcomeModel(existing: nil)
        model.end(status: 0)
        model.receive(.state("works", operation: nil))
        #expect(model.step == .introduction && model.relay == .notChosen)
    }

    @Test("passes only names of relays on")
    func names() {
        for name in ["4711", "cable.example.com", "my-relay"] { #expect(WelcomeModel.isRelayName(name)) }
        for name in ["", " ", "a b", "a/b", "é", String(repeating: "a", count: 254)] {
            #expect(!WelcomeModel.isRelayName(name), "\(name)")
        }
    }
}
