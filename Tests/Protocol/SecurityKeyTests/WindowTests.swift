// SPDX-License-Identifier: Apache-2.0

import HybridCTAP
import HybridSecurityKey
import TestSupport
import Testing

@Suite("Windows")
struct WindowTests {
    @Test("a request for the phone opens a window, and its end closes it")
    func phone() throws {
        var fixture = try KeyFixture()
        let messages = try fixture.key.receive(fixture.first, 0x10, SampleKey.assertion("example.com", [[1]]))
        #expect(messages == [ReferenceMessage(channel: fixture.first, command: 0x3B, payload: [2])])
        guard
            case .askPhone(let id, let request, afterConfirmation: false, isForGuest: true)? = fixture.key.actions.last
        else {
            Issue.record("no window")
            return
        }
        #expect(request.relyingParty.text == "example.com" && !request.isRegistration)
        #expect(try fixture.answer(.success(Phone.signed().encoded))?.status == .success)
        #expect(fixture.key.actions.last == .closeWindow(id, .success))
        #expect(fixture.key.key.deadline == nil, "an idle key has nothing to do")
    }

    @Test("with another key, the window first asks whether the phone is meant")
    func afterConfirmation() throws {
        var fixture = try KeyFixture(otherKeyExists: true)
        #expect(try fixture.send(SampleKey.assertion()) == nil)
        guard case .askPhone(_, _, afterConfirmation: true, isForGuest: true)? = fixture.key.actions.last else {
            Issue.record("no window")
            return
        }
        #expect(try fixture.key.endWindow(by: .confirmation) == [], "the phone decides, not the window")
        #expect(fixture.key.window != nil)
    }

    @Test("a request counts as a guest's, unless it names a local credential that was used before")
    func guests() throws {
        var memory = CredentialMemory()
        for name in ["ssh:", "pam://host", "example.com"] {
            let id = try #require(CredentialID(bytes: [1]))
            let relyingParty = try #require(RelyingPartyID(name, accepting: Set(RelyingPartyID.Kind.allCases)))
            _ = memory.note(id, of: relyingParty, key: try SampleKey.installationKey())
        }
        for (command, isForGuest) in [
            (SampleKey.assertion("ssh:", [[2], [1]]), false), (SampleKey.assertion("pam://host", [[1]]), false),
            (SampleKey.assertion("pam://other", [[1]]), true), (SampleKey.assertion("ssh:", [[2]]), true),
            (SampleKey.assertion("example.com", [[1]]), true), (SampleKey.creation("ssh:"), true),
        ] {
            var fixture = try KeyFixture(memory: memory)
            #expect(try fixture.send(command) == nil)
            guard case .askPhone(_, _, _, let found)? = fixture.key.actions.last else {
                Issue.record("no window")
                return
            }
            #expect(found == isForGuest)
        }
    }

    @Test("keepalives are sent every 100 ms while the user is asked")
    func keepalives() throws {
        var fixture = try KeyFixture()
        #expect(try fixture.send(SampleKey.assertion()) == nil)
        for _ in 0..<50 {
            #expect(fixture.key.key.deadline == fixture.key.now + .milliseconds(100))
            let due = try fixture.key.advance(by: .milliseconds(100))
            #expect(due == [ReferenceMessage(channel: fixture.first, command: 0x3B, payload: [2])])
        }
    }

    @Test("the client's cancellation closes the window, in each state")
    func cancel() throws {
        for prepare in [
            { _ in }, { _ = try $0.key.endPhone(with: .failed) },
            { _ = try $0.answer(.failure(.credentialExcluded)) },
        ] as [(inout KeyFixture) throws -> Void] {
            var fixture = try KeyFixture()
            #expect(try fixture.send(SampleKey.creation()) == nil)
            try prepare(&fixture)
            let id = try #require(fixture.key.window?.id)
            #expect(KeyFixture.response(try fixture.key.receive(fixture.first, 0x11, [])) == .failure(.keepaliveCancel))
            #expect(fixture.key.actions.last == .closeWindow(id, .keepaliveCancel))
            let late = fixture.key.key.phoneEnded(id, with: .responded(.success([])), at: fixture.key.now)
            #expect(late == [], "a late response has no effect")
        }
    }

    @Test("a reset of the channel closes the window without an answer")
    func reset() throws {
        var fixture = try KeyFixture()
        #expect(try fixture.send(SampleKey.creation()) == nil)
        let answers = try fixture.key.receive(fixture.first, 0x06, [UInt8](repeating: 0, count: 8))
        #expect(answers.map(\.command) == [0x06])
        #expect(fixture.key.window == nil)
    }

    @Test("a window that the user closes cancels the request")
    func closed() throws {
        var fixture = try KeyFixture()
        #expect(try fixture.send(SampleKey.creation()) == nil)
        #expect(KeyFixture.response(try fixture.key.endWindow(by: .closing)) == .failure(.keepaliveCancel))
    }

    @Test("a window whose user does not act in time ends the request with 0x2F, so that the key is free")
    func timeout() throws {
        for command in [SampleKey.creation(), [0x0B]] {
            var fixture = try KeyFixture()
            #expect(try fixture.send(command) == nil)
            #expect(KeyFixture.response(try fixture.key.endWindow(by: .timeout)) == .failure(.userActionTimeout))
            #expect(try fixture.send(SampleKey.assertion(), on: fixture.second) == nil, "the key is free")
        }
    }

    @Test("a failure of the ceremony stays in the window until it is closed, and is then 0x2F")
    func failed() throws {
        var fixture = try KeyFixture()
        #expect(try fixture.send(SampleKey.creation()) == nil)
        #expect(KeyFixture.response(try fixture.key.endPhone(with: .failed)) == nil)
        #expect(try fixture.key.advance(by: .milliseconds(100)).map(\.command) == [0x3B], "the client waits")
        #expect(KeyFixture.response(try fixture.key.endWindow(by: .closing)) == .failure(.userActionTimeout))
    }

    @Test("an excluded credential is reported to the client after the user has seen it")
    func excluded() throws {
        var fixture = try KeyFixture()
        #expect(try fixture.send(SampleKey.creation()) == nil)
        #expect(try fixture.answer(.failure(.credentialExcluded)) == nil)
        #expect(fixture.key.window != nil, "the message stays in the window")
        #expect(KeyFixture.response(try fixture.key.endWindow(by: .confirmation)) == .failure(.credentialExcluded))
    }

    @Test("an unattended window closes after five minutes, in each state")
    func unattended() throws {
        for prepare in [
            { _ in }, { _ = try $0.key.endPhone(with: .failed) },
            { _ = try $0.answer(.failure(.credentialExcluded)) },
        ] as [(inout KeyFixture) throws -> Void] {
            var fixture = try KeyFixture()
            #expect(try fixture.send(SampleKey.creation()) == nil)
            try prepare(&fixture)
            #expect(KeyFixture.response(try fixture.key.advance(by: .milliseconds(299_999))) == nil)
            let last = try fixture.key.advance(by: .milliseconds(1))
            #expect(KeyFixture.response(last) == .failure(.userActionTimeout))
            #expect(fixture.key.window == nil)
        }
    }

    @Test("sleep ends the open window with 0x2F")
    func suspend() throws {
        var fixture = try KeyFixture()
        #expect(try fixture.key.suspend() == [])
        #expect(try fixture.send(SampleKey.assertion()) == nil)
        #expect(KeyFixture.response(try fixture.key.suspend()) == .failure(.userActionTimeout))
    }

    @Test("a second request that needs a window is refused while one is open")
    func secondWindow() throws {
        for command in [SampleKey.creation(), SampleKey.assertion(), [0x0B], SampleKey.creation(".dummy")] {
            var fixture = try KeyFixture()
            #expect(try fixture.send(command) == nil)
            let answers = try fixture.key.receive(fixture.second, 0x10, SampleKey.assertion())
            #expect(answers == [ReferenceMessage(channel: fixture.second, command: 0x3F, payload: [0x06])])
            #expect(fixture.key.actions.count == 1)
        }
    }

    @Test("three windows open in a minute, on whatever channels")
    func limit() throws {
        var fixture = try KeyFixture()
        for channel in [fixture.first, fixture.second, try fixture.key.open()] {
            #expect(try fixture.send(SampleKey.assertion(), on: channel) == nil)
            _ = try fixture.key.endWindow(by: .closing)
            _ = try fixture.key.advance(by: .seconds(10))
        }
        let channel = try fixture.key.open()
        #expect(try fixture.send([0x0B], on: channel) == .failure(.userActionTimeout))
        #expect(try fixture.send(SampleKey.assertion(), on: channel) == .failure(.userActionTimeout))
        #expect(try fixture.send(SampleKey.probe("example.com", [[1]]), on: channel)?.status == .success)
        _ = try fixture.key.advance(by: .milliseconds(29_999))
        #expect(try fixture.send(SampleKey.assertion(), on: channel) == .failure(.userActionTimeout))
        _ = try fixture.key.advance(by: .milliseconds(1))
        #expect(try fixture.send(SampleKey.assertion(), on: channel) == nil)
    }
}
