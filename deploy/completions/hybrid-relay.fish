function __hybrid-relay_should_offer_completions_for_flags_or_options -a expected_commands
    set -l non_repeating_flags_or_options $argv[2..]
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __hybrid-relay_parse_tokens
    test "$commands" = "$expected_commands"; and return $non_repeating_flags_or_options_absent
end

function __hybrid-relay_should_offer_completions_for_positional -a expected_commands positional_index_comparison expected_positional_index
    set -l non_repeating_flags_or_options
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __hybrid-relay_parse_tokens
    test "$commands" = "$expected_commands" -a \( "$positional_index" "$positional_index_comparison" "$expected_positional_index" \)
end

function __hybrid-relay_parse_tokens -S
    set -l unparsed_tokens (__hybrid-relay_tokens -pc)
    switch $unparsed_tokens[1]
    case 'hybrid-relay'
        __hybrid-relay_parse_subcommand 0 'version' 'h/help'
        switch $unparsed_tokens[1]
        case 'serve'
            __hybrid-relay_parse_subcommand 0 'config=' 'listen=+' 'tls-cert=' 'tls-key=' 'plaintext' 'insecure-public-plaintext' 'proxy-protocol-from=+' 'admin-listen=' 'node=' 'cluster' 'new-token-file=' 'contact-host=' 'push-key-file=' 'push-subject=' 'push-allow=+' 'push-cacert=' 'check-origin' 'drain-grace=' 'event-loops=' 'log-format=' 'log-level=' 'max-message=' 'max-early=' 'max-tunnel-bytes=' 'waiting-timeout=' 'idle-timeout=' 'max-lifetime=' 'waiting-per-tunnel=' 'max-tunnels=' 'max-connections=' 'max-buffered=' 'head-timeout=' 'max-head=' 'source-open=' 'source-connections-per-minute=' 'source-new-per-minute=' 'source-listeners=' 'source-network-factor=' 'max-listeners=' 'max-held-contacts=' 'listener-lifetime=' 'push-host-per-minute=' 'ping-interval=' 'ping-misses=' 'version' 'h/help'
        case 'check-config'
            __hybrid-relay_parse_subcommand 0 'config=' 'listen=+' 'tls-cert=' 'tls-key=' 'plaintext' 'insecure-public-plaintext' 'proxy-protocol-from=+' 'admin-listen=' 'node=' 'cluster' 'new-token-file=' 'contact-host=' 'push-key-file=' 'push-subject=' 'push-allow=+' 'push-cacert=' 'check-origin' 'drain-grace=' 'event-loops=' 'log-format=' 'log-level=' 'max-message=' 'max-early=' 'max-tunnel-bytes=' 'waiting-timeout=' 'idle-timeout=' 'max-lifetime=' 'waiting-per-tunnel=' 'max-tunnels=' 'max-connections=' 'max-buffered=' 'head-timeout=' 'max-head=' 'source-open=' 'source-connections-per-minute=' 'source-new-per-minute=' 'source-listeners=' 'source-network-factor=' 'max-listeners=' 'max-held-contacts=' 'listener-lifetime=' 'push-host-per-minute=' 'ping-interval=' 'ping-misses=' 'json' 'version' 'h/help'
        case 'new-token'
            __hybrid-relay_parse_subcommand 1 'file=' 'version' 'h/help'
        case 'new-push-keys'
            __hybrid-relay_parse_subcommand 1 'version' 'h/help'
        case 'domain'
            __hybrid-relay_parse_subcommand 0 'version' 'h/help'
            switch $unparsed_tokens[1]
            case 'show'
                __hybrid-relay_parse_subcommand 1 'version' 'h/help'
            case 'list'
                __hybrid-relay_parse_subcommand 0 'from=' 'to=' 'suffix=' 'limit=' 'version' 'h/help'
            case 'plan'
                __hybrid-relay_parse_subcommand 1 'version' 'h/help'
            end
        case 'check'
            __hybrid-relay_parse_subcommand 1 'cacert=' 'connect-to=' 'tunnel-token-file=' 'json' 'timeout=' 'slow' 'contact' 'contact-host=' 'version' 'h/help'
        case 'help'
            __hybrid-relay_parse_subcommand -r 1 'version'
        end
    end
end

function __hybrid-relay_tokens
    if test (string split -m 1 -f 1 -- . "$FISH_VERSION") -gt 3
        commandline --tokens-raw $argv
    else
        commandline -o $argv
    end
end

function __hybrid-relay_parse_subcommand -S -a positional_count
    argparse -s r -- $argv
    set -l option_specs $argv[2..]
    set -l is_repeating_positional $_flag_r
    set -el _flag_r
    set -a commands $unparsed_tokens[1]
    set positional_index 0
    while true
        set -e unparsed_tokens[1]
        argparse -sn "$commands" $option_specs -- $unparsed_tokens 2> /dev/null
        set unparsed_tokens $argv
        set positional_index (math $positional_index + 1)
        for non_repeating_flag_or_option in $non_repeating_flags_or_options
            if set -ql "_flag_$(string replace -a - _ -- $non_repeating_flag_or_option)"
                set non_repeating_flags_or_options_absent 1
                break
            end
        end
        test (count $unparsed_tokens) -eq 0 -o \( -z "$is_repeating_positional" -a "$positional_index" -gt "$positional_count" \) && break
    end
end

function __hybrid-relay_complete_directories
    set -l token (commandline -t)
    string match -- '*/' $token
    set -l subdirs $token*/
    printf %s\n $subdirs
end

function __hybrid-relay_custom_completion
    set -x SAP_SHELL fish
    set -x SAP_SHELL_VERSION $FISH_VERSION
    set -l tokens (__hybrid-relay_tokens -p)
    if test -z "$(__hybrid-relay_tokens -t)"
        set -l index (count (__hybrid-relay_tokens -pc))
        set tokens $tokens[..$index] \'\' $tokens[(math $index + 1)..]
    end
    command $tokens[1] $argv $tokens
end

complete -c 'hybrid-relay' -f
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_positional "hybrid-relay" -eq 1' -fa 'serve' -d 'Run the relay.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_positional "hybrid-relay" -eq 1' -fa 'check-config' -d 'Print every setting with its value and its source.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_positional "hybrid-relay" -eq 1' -fa 'new-token' -d 'Create a token for phones and add it to the file of serve --new-token-file.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_positional "hybrid-relay" -eq 1' -fa 'new-push-keys' -d 'Create the key file of serve --push-key-file.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_positional "hybrid-relay" -eq 1' -fa 'domain' -d 'Print the number and host of a tunnel domain; list domains; plan a relay.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_positional "hybrid-relay" -eq 1' -fa 'check' -d 'Check any relay from outside.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_positional "hybrid-relay" -eq 1' -fa 'help' -d 'Show subcommand help information.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" config' -l 'config' -d 'A file with HYBRID_* variables; default: /etc/hybrid/relay.env, if it exists.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve"' -l 'listen' -d 'Address to listen on, HOST:PORT; can be repeated. Not needed with systemd socket activation.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" tls-cert' -l 'tls-cert' -d 'Certificate chain in PEM, the relay\'s own certificate first.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" tls-key' -l 'tls-key' -d 'Private key in PEM, not encrypted.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" plaintext' -l 'plaintext' -d 'Use no TLS: on loopback addresses, or behind a load balancer.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" insecure-public-plaintext' -l 'insecure-public-plaintext' -d 'Allow --plaintext on addresses that other computers can reach.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve"' -l 'proxy-protocol-from' -d 'Load balancers, as addresses or blocks. Their connections must begin with a PROXY header, v1 or v2.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" admin-listen' -l 'admin-listen' -d 'Address for /metrics, /healthz and /readyz: HOST:PORT, or PORT on 127.0.0.1.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" node' -l 'node' -d 'This relay\'s number in a cluster, 0 to 65535.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" cluster' -l 'cluster' -d 'This relay is one of several behind a load balancer; needs --node.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" new-token-file' -l 'new-token-file' -d 'Allow only phones with a token of this file to open tunnels; see hybrid-relay new-token.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" contact-host' -l 'contact-host' -d 'The host of the relay\'s tunnel domain in lower case; offers linked phones, which prove their IDs for it.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" push-key-file' -l 'push-key-file' -d 'Wake phones through their push servers, with the keys of this file; see hybrid-relay new-push-keys. Needs --contact-host and --push-subject.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" push-subject' -l 'push-subject' -d 'Address of the relay\'s operator for operators of push servers, mailto:ADDRESS or an https URL.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve"' -l 'push-allow' -d 'Push servers in the own network, HOST[:PORT]; can be repeated. Others must be on the public internet.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" push-cacert' -l 'push-cacert' -d 'Certificates (PEM) to trust for the push servers of --push-allow instead of the system\'s.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" check-origin' -l 'check-origin' -d 'Refuse requests with an Origin that names another host.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" drain-grace' -l 'drain-grace' -d 'Time that tunnels have to finish after SIGTERM, in seconds. (default: 60)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" event-loops' -l 'event-loops' -d 'Number of threads that carry tunnels. Default: the number of CPUs that the process may use.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" log-format' -l 'log-format' -d 'Format of log lines. (default: console)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" log-level' -l 'log-level' -d 'Lowest level of log lines. (default: info)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" max-message' -l 'max-message' -d 'Maximum length of a message, in bytes. (default: 1MiB)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" max-early' -l 'max-early' -d 'Maximum number of bytes that a phone may send before its client joins; then the relay stops reading from it. (default: 64KiB)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" max-tunnel-bytes' -l 'max-tunnel-bytes' -d 'Maximum number of bytes that a tunnel may carry. (default: 16MiB)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" waiting-timeout' -l 'waiting-timeout' -d 'Time a phone may wait for its client. In seconds. (default: 120)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" idle-timeout' -l 'idle-timeout' -d 'Time a tunnel may carry no data. In seconds. (default: 300)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" max-lifetime' -l 'max-lifetime' -d 'Maximum lifetime of a tunnel. In seconds. (default: 600)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" waiting-per-tunnel' -l 'waiting-per-tunnel' -d 'Maximum number of phones that may wait for one client. (default: 4)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" max-tunnels' -l 'max-tunnels' -d 'Maximum number of tunnels. (default: 10000)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" max-connections' -l 'max-connections' -d 'Maximum number of connections. Default: twice the tunnels plus 1,000, and the listeners if --contact-host is given, within the limit on file descriptors. An eighth of them is reserved for clients.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" max-buffered' -l 'max-buffered' -d 'Maximum number of bytes that all connections may hold in memory; then senders have to wait. (default: 256MiB)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" head-timeout' -l 'head-timeout' -d 'Time for the TLS handshake and the request head together. In seconds. (default: 5)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" max-head' -l 'max-head' -d 'Maximum length of a request head. (default: 8KiB)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" source-open' -l 'source-open' -d 'Maximum number of connections from one IPv4 address or IPv6 /64; 0 means no limit. An eighth is reserved for clients. (default: 64)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" source-connections-per-minute' -l 'source-connections-per-minute' -d 'Maximum number of connections that one IPv4 address or IPv6 /64 may open in a minute; 0 means no limit. A failed request counts as 4 connections, a wrong token as 12. (default: 240)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" source-new-per-minute' -l 'source-new-per-minute' -d 'Maximum number of tunnels that one IPv4 address or IPv6 /64 may open in a minute; 0 means no limit. (default: 60)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" source-listeners' -l 'source-listeners' -d 'Maximum number of phones at one IPv4 address or IPv6 /64 that listen for wake-ups; 0 means no limit. (default: 32)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" source-network-factor' -l 'source-network-factor' -d 'Limits of an IPv6 /48, as a multiple of those of a /64; 0 means no limits for a /48. (default: 8)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" max-listeners' -l 'max-listeners' -d 'Maximum number of phones that listen for wake-ups. (default: 10000)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" max-held-contacts' -l 'max-held-contacts' -d 'Maximum number of clients that wait up to 8 seconds for a linked phone to connect. (default: 1000)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" listener-lifetime' -l 'listener-lifetime' -d 'Time after which a phone that listens has to connect again; up to a fifth less at random. In seconds. (default: 600)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" push-host-per-minute' -l 'push-host-per-minute' -d 'Maximum number of messages for one push server in a minute; 0 means no limit. (default: 600)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" ping-interval' -l 'ping-interval' -d 'Time without received data before an end is pinged. In seconds. (default: 25)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" ping-misses' -l 'ping-misses' -d 'Number of unanswered pings that end a tunnel. (default: 2)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay serve" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" config' -l 'config' -d 'A file with HYBRID_* variables; default: /etc/hybrid/relay.env, if it exists.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config"' -l 'listen' -d 'Address to listen on, HOST:PORT; can be repeated. Not needed with systemd socket activation.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" tls-cert' -l 'tls-cert' -d 'Certificate chain in PEM, the relay\'s own certificate first.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" tls-key' -l 'tls-key' -d 'Private key in PEM, not encrypted.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" plaintext' -l 'plaintext' -d 'Use no TLS: on loopback addresses, or behind a load balancer.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" insecure-public-plaintext' -l 'insecure-public-plaintext' -d 'Allow --plaintext on addresses that other computers can reach.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config"' -l 'proxy-protocol-from' -d 'Load balancers, as addresses or blocks. Their connections must begin with a PROXY header, v1 or v2.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" admin-listen' -l 'admin-listen' -d 'Address for /metrics, /healthz and /readyz: HOST:PORT, or PORT on 127.0.0.1.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" node' -l 'node' -d 'This relay\'s number in a cluster, 0 to 65535.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" cluster' -l 'cluster' -d 'This relay is one of several behind a load balancer; needs --node.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" new-token-file' -l 'new-token-file' -d 'Allow only phones with a token of this file to open tunnels; see hybrid-relay new-token.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" contact-host' -l 'contact-host' -d 'The host of the relay\'s tunnel domain in lower case; offers linked phones, which prove their IDs for it.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" push-key-file' -l 'push-key-file' -d 'Wake phones through their push servers, with the keys of this file; see hybrid-relay new-push-keys. Needs --contact-host and --push-subject.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" push-subject' -l 'push-subject' -d 'Address of the relay\'s operator for operators of push servers, mailto:ADDRESS or an https URL.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config"' -l 'push-allow' -d 'Push servers in the own network, HOST[:PORT]; can be repeated. Others must be on the public internet.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" push-cacert' -l 'push-cacert' -d 'Certificates (PEM) to trust for the push servers of --push-allow instead of the system\'s.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" check-origin' -l 'check-origin' -d 'Refuse requests with an Origin that names another host.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" drain-grace' -l 'drain-grace' -d 'Time that tunnels have to finish after SIGTERM, in seconds. (default: 60)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" event-loops' -l 'event-loops' -d 'Number of threads that carry tunnels. Default: the number of CPUs that the process may use.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" log-format' -l 'log-format' -d 'Format of log lines. (default: console)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" log-level' -l 'log-level' -d 'Lowest level of log lines. (default: info)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" max-message' -l 'max-message' -d 'Maximum length of a message, in bytes. (default: 1MiB)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" max-early' -l 'max-early' -d 'Maximum number of bytes that a phone may send before its client joins; then the relay stops reading from it. (default: 64KiB)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" max-tunnel-bytes' -l 'max-tunnel-bytes' -d 'Maximum number of bytes that a tunnel may carry. (default: 16MiB)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" waiting-timeout' -l 'waiting-timeout' -d 'Time a phone may wait for its client. In seconds. (default: 120)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" idle-timeout' -l 'idle-timeout' -d 'Time a tunnel may carry no data. In seconds. (default: 300)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" max-lifetime' -l 'max-lifetime' -d 'Maximum lifetime of a tunnel. In seconds. (default: 600)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" waiting-per-tunnel' -l 'waiting-per-tunnel' -d 'Maximum number of phones that may wait for one client. (default: 4)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" max-tunnels' -l 'max-tunnels' -d 'Maximum number of tunnels. (default: 10000)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" max-connections' -l 'max-connections' -d 'Maximum number of connections. Default: twice the tunnels plus 1,000, and the listeners if --contact-host is given, within the limit on file descriptors. An eighth of them is reserved for clients.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" max-buffered' -l 'max-buffered' -d 'Maximum number of bytes that all connections may hold in memory; then senders have to wait. (default: 256MiB)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" head-timeout' -l 'head-timeout' -d 'Time for the TLS handshake and the request head together. In seconds. (default: 5)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" max-head' -l 'max-head' -d 'Maximum length of a request head. (default: 8KiB)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" source-open' -l 'source-open' -d 'Maximum number of connections from one IPv4 address or IPv6 /64; 0 means no limit. An eighth is reserved for clients. (default: 64)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" source-connections-per-minute' -l 'source-connections-per-minute' -d 'Maximum number of connections that one IPv4 address or IPv6 /64 may open in a minute; 0 means no limit. A failed request counts as 4 connections, a wrong token as 12. (default: 240)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" source-new-per-minute' -l 'source-new-per-minute' -d 'Maximum number of tunnels that one IPv4 address or IPv6 /64 may open in a minute; 0 means no limit. (default: 60)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" source-listeners' -l 'source-listeners' -d 'Maximum number of phones at one IPv4 address or IPv6 /64 that listen for wake-ups; 0 means no limit. (default: 32)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" source-network-factor' -l 'source-network-factor' -d 'Limits of an IPv6 /48, as a multiple of those of a /64; 0 means no limits for a /48. (default: 8)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" max-listeners' -l 'max-listeners' -d 'Maximum number of phones that listen for wake-ups. (default: 10000)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" max-held-contacts' -l 'max-held-contacts' -d 'Maximum number of clients that wait up to 8 seconds for a linked phone to connect. (default: 1000)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" listener-lifetime' -l 'listener-lifetime' -d 'Time after which a phone that listens has to connect again; up to a fifth less at random. In seconds. (default: 600)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" push-host-per-minute' -l 'push-host-per-minute' -d 'Maximum number of messages for one push server in a minute; 0 means no limit. (default: 600)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" ping-interval' -l 'ping-interval' -d 'Time without received data before an end is pinged. In seconds. (default: 25)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" ping-misses' -l 'ping-misses' -d 'Number of unanswered pings that end a tunnel. (default: 2)' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" json' -l 'json' -d 'Print one JSON array.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check-config" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay new-token" file' -l 'file' -d 'The token file; created if it is missing.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay new-token" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay new-token" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay new-push-keys" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay new-push-keys" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay domain" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay domain" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_positional "hybrid-relay domain" -eq 1' -fa 'show' -d 'Print the number and host of a tunnel domain.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_positional "hybrid-relay domain" -eq 1' -fa 'list' -d 'List numbers and their hosts.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_positional "hybrid-relay domain" -eq 1' -fa 'plan' -d 'Print the steps to run a relay under a number.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay domain show" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay domain show" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay domain list" from' -l 'from' -d 'The first number.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay domain list" to' -l 'to' -d 'The last number.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay domain list" suffix' -l 'suffix' -d 'Print only hosts with this suffix.' -rfka 'com org net info'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay domain list" limit' -l 'limit' -d 'Print at most this many; 0 prints all.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay domain list" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay domain list" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay domain plan" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay domain plan" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check" cacert' -l 'cacert' -d 'Trust these certificates (PEM) instead of the system\'s.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check" connect-to' -l 'connect-to' -d 'Connect to another address, like curl.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check" tunnel-token-file' -l 'tunnel-token-file' -d 'A file with the relay\'s token.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check" json' -l 'json' -d 'Print one JSON object.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check" timeout' -l 'timeout' -d 'Time limit of each check, in seconds.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check" slow' -l 'slow' -d 'Check that the relay times out an incomplete request, within --timeout.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check" contact' -l 'contact' -d 'The relay serves linked phones: 410 is the right answer for an unknown one.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check" contact-host' -l 'contact-host' -d 'The relay\'s --contact-host, if it is not the host of the URL.' -rfka ''
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay check" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-relay' -n '__hybrid-relay_should_offer_completions_for_flags_or_options "hybrid-relay help" version' -l 'version' -d 'Show the version.'
