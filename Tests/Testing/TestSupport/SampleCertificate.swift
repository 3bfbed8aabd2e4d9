// SPDX-License-Identifier: Apache-2.0

/// A certificate without a private key, for code that only reads certificates.
package enum SampleCertificate {
    /// The certificate in PEM.
    package static let pem = """
        -----BEGIN CERTIFICATE-----
        MIIBdDCCARugAwIBAgIUQfnG0krpyWtJQ/kSHxEaNFRnGuMwCgYIKoZIzj0EAwIw
        DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjIwNzU2MzlaGA8yMTI2MTAyOTA3NTYz
        OVowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABHDW
        JYPGx558PsXrWGoq+TdT5ZH8tjeRm5MgTY+8yyq2lJ2LIkH1OxD6yBoIsIaohed/
        gxARNTBQ0HEXwwg/rUOjUzBRMB0GA1UdDgQWBBQx8hybD7cbDTAuAKqtVQAUd736
        9DAfBgNVHSMEGDAWgBQx8hybD7cbDTAuAKqtVQAUd7369DAPBgNVHRMBAf8EBTAD
        AQH/MAoGCCqGSM49BAMCA0cAMEQCID7+dW3Lbtsz9KMwogFXyA3IPOFu4KHaiiES
        Y30SXdo4AiA+tDIe8qSwJqUFxKQCIZQNII4zp9ccOdk0Zg/VX0L0Nw==
        -----END CERTIFICATE-----

        """
}
