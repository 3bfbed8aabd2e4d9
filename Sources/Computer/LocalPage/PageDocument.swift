// SPDX-License-Identifier: Apache-2.0

/// A complete HTML document.
///
/// Its policy prevents the document from loading other resources than the events.
struct PageDocument {
    let text: String
    /// The value of `Content-Security-Policy`.
    let policy: String

    private init(head: String, body: String, policy: String) {
        text = """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="color-scheme" content="light dark">
            <title>Use your phone</title>
            <link rel="icon" href="data:,">
            \(head)
            </head>
            <body>
            \(body)
            </body>
            </html>

            """
        let general = "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        self.policy = "default-src 'none'; \(policy)\(general)"
    }

    /// Returns the page that shows the QR code and the progress.
    ///
    /// - Parameter nonce: The nonce of this response; browsers ignore scripts and styles without it.
    static func live(nonce: String) -> PageDocument {
        PageDocument(
            head: """
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <style nonce="\(nonce)">
                \(String(decoding: PackageResources.page_css, as: UTF8.self))
                </style>
                """,
            body: """
                <main>
                <h1 id="heading">Use your phone</h1>
                <p id="warning" class="warning" role="note" hidden></p>
                <figure id="figure" hidden>
                <svg id="code" role="img" aria-label="QR code. Scan it with the phone that has the passkey." \
                shape-rendering="crispEdges"><rect width="100%" height="100%" fill="#fff"/>\
                <path id="modules" fill="#000"/></svg>
                </figure>
                <p id="status" role="status" aria-live="polite">Getting ready</p>
                <div id="failure" role="alert" hidden><p id="cause"></p><p id="remedy"></p></div>
                <p class="times"><span id="elapsed" role="timer" aria-label="time so far">0:00</span></p>
                <ol id="steps">
                <li data-stage="scan">Scan the code with your phone</li>
                <li data-stage="found">Phone found</li>
                <li data-stage="connecting">Connecting</li>
                <li data-stage="confirm">Confirm on your phone</li>
                <li data-stage="done">Done</li>
                </ol>
                <p id="closing" class="hint">Closing this page cancels.</p>
                <noscript><p class="warning">This page needs JavaScript. Without it, use the code in the terminal: \
                end hybrid-client and start it again without --open.</p></noscript>
                </main>
                <script nonce="\(nonce)">
                \(String(decoding: PackageResources.page_js, as: UTF8.self))
                </script>
                """,
            policy: "script-src 'nonce-\(nonce)'; style-src 'nonce-\(nonce)'; connect-src 'self'; "
        )
    }

    /// Returns the document that immediately redirects to the page, so that no address with the token stays in the
    /// history.
    static func forwarding() -> PageDocument {
        PageDocument(
            head: #"<meta http-equiv="refresh" content="0;url=/">"#,
            body: #"<p><a href="/">Continue</a></p>"#,
            policy: ""
        )
    }
}
