// SPDX-License-Identifier: Apache-2.0

/// How the page looks, in dark and light alike; the code is always black on white.
enum PageStyle {
    static let text = """
        :root { color-scheme: light dark; --paper: #fff; --ink: #1b1b1f; --quiet: #5a5a62; --accent: #0b57d0;
          --warning: #8c1d18; --line: #d0d0d8; }
        @media (prefers-color-scheme: dark) {
          :root { --paper: #141417; --ink: #ececf1; --quiet: #a9a9b4; --accent: #a8c7fa; --warning: #f2b8b5;
            --line: #3c3c44; }
        }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--paper); color: var(--ink); font: 1.125rem/1.5 system-ui, sans-serif; }
        main { max-width: 40rem; margin: 0 auto; padding: 1.5rem; text-align: center; }
        h1 { font-size: 1.5rem; margin: 0 0 1rem; overflow-wrap: anywhere; }
        figure { margin: 0 auto 1rem; width: min(60vh, 100%); min-width: min(18rem, 100%); }
        svg { display: block; width: 100%; background: #fff; border-radius: 0.5rem; }
        #status { font-size: 1.5rem; font-weight: 600; margin: 0.5rem 0; }
        .times, .hint { color: var(--quiet); margin: 0.5rem 0; }
        #elapsed { font-variant-numeric: tabular-nums; }
        .warning, #failure { color: var(--warning); border: 2px solid; border-radius: 0.5rem; padding: 0.5rem 1rem;
          margin: 0 0 1rem; }
        #failure p { margin: 0.25rem 0; overflow-wrap: anywhere; }
        #cause { font-weight: 600; }
        ol { display: inline-block; text-align: left; margin: 0.5rem 0; color: var(--quiet); }
        li::marker { font-variant-numeric: tabular-nums; }
        li[aria-current] { color: var(--accent); font-weight: 600; }
        li.past::after { content: " ✓"; }
        [hidden] { display: none; }
        """
}
