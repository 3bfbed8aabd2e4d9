// SPDX-License-Identifier: Apache-2.0

import BLEAdvert
import CeremonySupport
import HybridSession
import ServiceSupport
import Testing

@Suite("A ceremony's failure as the end of a command")
struct FailureTests {
    @Test("every sort of failure is an exit status of the same number")
    func statuses() {
        // All there can be: exit codes are bytes.
        let kinds = (0...255).compactMap(FailureKind.init)
        #expect(kinds.count == 7)
        for kind in kinds { #expect(ExitStatus(kind).rawValue == kind.rawValue) }
    }

    @Test("sentence and code stay what they are")
    func words() {
        let failure = RadioError.noBluetoothService
        let ending = CommandFailure(failure)
        #expect(ending.sentence == failure.sentence)
        #expect(ending.code == failure.code)
        #expect(ending.status.rawValue == failure.kind.rawValue)
        #expect(ending.details == [:])
    }
}
