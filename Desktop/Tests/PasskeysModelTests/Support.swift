// SPDX-License-Identifier: Apache-2.0

import HybridPasskeysModel

/// Returns the bytes of a line of a helper.
func line(_ text: String) -> [UInt8] { Array(text.utf8) }

/// The ID of a passkey with a number.
func passkeyID(_ number: Int) -> String { "f738000\(number)" }

/// Returns a row of the helper's list.
func row(
    _ number: Int = 1,
    site: String? = "example.com",
    name: String = "ada",
    display: String = "",
    more: String = ""
) -> String {
    let site = site.map { #""\#($0)""# } ?? "null"
    return #"{"id":"\#(passkeyID(number))","rpId":\#(site),"userName":"\#(name)","userDisplayName":"\#(display)","#
        + #""created":1700000000,"usable":true,"hidden":false,"sshKey":false,"encryptionKey":false,"signs":null"#
        + more + "}"
}

/// A clock in a time zone an hour east of Greenwich, at 12:00 on 29 November 2026 there.
let clock = LocalClock(now: { 1_795_950_000 }, offset: { _ in 3600 })

/// A session whose list has arrived.
func openSession(_ rows: String...) -> PasskeySession {
    var session = PasskeySession()
    session.start()
    _ = session.receive(line(#"{"ready":1,"vault":"/v","count":\#(rows.count)}"#))
    _ = session.receive(line(#"{"n":1,"passkeys":[\#(rows.joined(separator: ","))],"hidden":0}"#))
    return session
}
