function __hybrid-auth_should_offer_completions_for_flags_or_options -a expected_commands
    set -l non_repeating_flags_or_options $argv[2..]
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __hybrid-auth_parse_tokens
    test "$commands" = "$expected_commands"; and return $non_repeating_flags_or_options_absent
end

function __hybrid-auth_should_offer_completions_for_positional -a expected_commands positional_index_comparison expected_positional_index
    set -l non_repeating_flags_or_options
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __hybrid-auth_parse_tokens
    test "$commands" = "$expected_commands" -a \( "$positional_index" "$positional_index_comparison" "$expected_positional_index" \)
end

function __hybrid-auth_parse_tokens -S
    set -l unparsed_tokens (__hybrid-auth_tokens -pc)
    switch $unparsed_tokens[1]
    case 'hybrid-auth'
        __hybrid-auth_parse_subcommand 0 'version' 'h/help'
        switch $unparsed_tokens[1]
        case 'scan'
            __hybrid-auth_parse_subcommand 1 'url=' 'link=' 'image=' 'camera' 'screen' 'vault=' 'tunnel-domain=' 'pinentry=' 'tunnel-token-file=' 'cacert=' 'connect-to=+' 'adapter=' 'ble-channel' 'no-ble-channel' 'local-services' 'no-local-services' 'ask-to-link' 'no-ask-to-link' 'link-as=' 'push' 'no-push' 'json' 'timeout=' 'version' 'h/help'
        case 'listen'
            __hybrid-auth_parse_subcommand 0 'connect-to=+' 'adapter=' 'tunnel-token-file=' 'cacert=' 'vault=' 'pinentry=' 'local-services' 'no-local-services' 'push' 'no-push' 'push-distributor=' 'tunnel-domain=' 'idle-timeout=' 'version' 'h/help'
        case 'links'
            __hybrid-auth_parse_subcommand 0 'version' 'h/help'
            switch $unparsed_tokens[1]
            case 'list'
                __hybrid-auth_parse_subcommand 0 'json' 'version' 'h/help'
            case 'rename'
                __hybrid-auth_parse_subcommand 2 'json' 'version' 'h/help'
            case 'unmute'
                __hybrid-auth_parse_subcommand 1 'json' 'version' 'h/help'
            case 'forget'
                __hybrid-auth_parse_subcommand 1 'json' 'connect-to=+' 'adapter=' 'tunnel-token-file=' 'cacert=' 'version' 'h/help'
            end
        case 'setup'
            __hybrid-auth_parse_subcommand 0 'tunnel-domain=' 'tunnel-token-file=' 'cacert=' 'connect-to=' 'no-check' 'version' 'h/help'
        case 'vault'
            __hybrid-auth_parse_subcommand 0 'version' 'h/help'
            switch $unparsed_tokens[1]
            case 'init'
                __hybrid-auth_parse_subcommand 0 'vault=' 'pinentry=' 'version' 'h/help'
            case 'status'
                __hybrid-auth_parse_subcommand 0 'vault=' 'json' 'version' 'h/help'
            case 'change-pin'
                __hybrid-auth_parse_subcommand 0 'vault=' 'pinentry=' 'forgotten' 'version' 'h/help'
            case 'add-passphrase'
                __hybrid-auth_parse_subcommand 0 'vault=' 'pinentry=' 'replace' 'version' 'h/help'
            case 'recovery-code'
                __hybrid-auth_parse_subcommand 0 'vault=' 'pinentry=' 'replace' 'version' 'h/help'
            case 'tpm'
                __hybrid-auth_parse_subcommand 0 'version' 'h/help'
                switch $unparsed_tokens[1]
                case 'enable'
                    __hybrid-auth_parse_subcommand 0 'vault=' 'pinentry=' 'version' 'h/help'
                case 'disable'
                    __hybrid-auth_parse_subcommand 0 'vault=' 'pinentry=' 'version' 'h/help'
                case 'status'
                    __hybrid-auth_parse_subcommand 0 'vault=' 'json' 'version' 'h/help'
                end
            case 'finger'
                __hybrid-auth_parse_subcommand 0 'version' 'h/help'
                switch $unparsed_tokens[1]
                case 'enable'
                    __hybrid-auth_parse_subcommand 0 'vault=' 'pinentry=' 'version' 'h/help'
                case 'disable'
                    __hybrid-auth_parse_subcommand 0 'vault=' 'version' 'h/help'
                case 'status'
                    __hybrid-auth_parse_subcommand 0 'vault=' 'json' 'version' 'h/help'
                end
            case 'backup'
                __hybrid-auth_parse_subcommand 1 'vault=' 'pinentry=' 'version' 'h/help'
            case 'restore'
                __hybrid-auth_parse_subcommand 1 'vault=' 'pinentry=' 'version' 'h/help'
            case 'rekey'
                __hybrid-auth_parse_subcommand 0 'vault=' 'pinentry=' 'version' 'h/help'
            case 'accept'
                __hybrid-auth_parse_subcommand 0 'vault=' 'pinentry=' 'version' 'h/help'
            end
        case 'passkeys'
            __hybrid-auth_parse_subcommand 0 'version' 'h/help'
            switch $unparsed_tokens[1]
            case 'list'
                __hybrid-auth_parse_subcommand 0 'vault=' 'pinentry=' 'json' 'hidden' 'version' 'h/help'
            case 'show'
                __hybrid-auth_parse_subcommand 1 'vault=' 'pinentry=' 'json' 'manage' 'cacert=' 'connect-to=+' 'version' 'h/help'
            case 'rename'
                __hybrid-auth_parse_subcommand 2 'vault=' 'pinentry=' 'json' 'display-name=' 'version' 'h/help'
            case 'delete'
                __hybrid-auth_parse_subcommand 1 'vault=' 'pinentry=' 'json' 'yes' 'version' 'h/help'
            case 'signal'
                __hybrid-auth_parse_subcommand 1 'vault=' 'pinentry=' 'json' 'yes' 'version' 'h/help'
            case 'history'
                __hybrid-auth_parse_subcommand 0 'vault=' 'pinentry=' 'json' 'last=' 'version' 'h/help'
            end
        case 'export'
            __hybrid-auth_parse_subcommand 1 'vault=' 'pinentry=' 'yes' 'version' 'h/help'
        case 'import'
            __hybrid-auth_parse_subcommand 1 'vault=' 'pinentry=' 'version' 'h/help'
        case 'agent'
            __hybrid-auth_parse_subcommand 0 'socket=' 'finger-after-suspend' 'no-finger-after-suspend' 'version' 'h/help'
        case 'doctor'
            __hybrid-auth_parse_subcommand 0 'vault=' 'tunnel-domain=' 'pinentry=' 'tunnel-token-file=' 'json' 'cacert=' 'connect-to=+' 'adapter=' 'timeout=' 'version' 'h/help'
        case 'check-config'
            __hybrid-auth_parse_subcommand 0 'json' 'version' 'h/help'
        case 'help'
            __hybrid-auth_parse_subcommand -r 1 'version'
        end
    end
end

function __hybrid-auth_tokens
    if test (string split -m 1 -f 1 -- . "$FISH_VERSION") -gt 3
        commandline --tokens-raw $argv
    else
        commandline -o $argv
    end
end

function __hybrid-auth_parse_subcommand -S -a positional_count
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

function __hybrid-auth_complete_directories
    set -l token (commandline -t)
    string match -- '*/' $token
    set -l subdirs $token*/
    printf %s\n $subdirs
end

function __hybrid-auth_custom_completion
    set -x SAP_SHELL fish
    set -x SAP_SHELL_VERSION $FISH_VERSION
    set -l tokens (__hybrid-auth_tokens -p)
    if test -z "$(__hybrid-auth_tokens -t)"
        set -l index (count (__hybrid-auth_tokens -pc))
        set tokens $tokens[..$index] \'\' $tokens[(math $index + 1)..]
    end
    command $tokens[1] $argv $tokens
end

complete -c 'hybrid-auth' -f
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth" -eq 1' -fa 'scan' -d 'Answer a sign-in code that another device shows.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth" -eq 1' -fa 'listen' -d 'Wait for requests of linked computers.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth" -eq 1' -fa 'links' -d 'List, rename, unmute and forget linked computers.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth" -eq 1' -fa 'setup' -d 'Choose a relay, check it, and save it.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth" -eq 1' -fa 'vault' -d 'Manage the vault that stores the passkeys.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth" -eq 1' -fa 'passkeys' -d 'List, rename and delete passkeys, and show when they were used.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth" -eq 1' -fa 'export' -d 'Write all passkeys to one new file for another program, keys in the clear.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth" -eq 1' -fa 'import' -d 'Add the passkeys of another program\'s export.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth" -eq 1' -fa 'agent' -d 'Hold vault keys, and release one for each fingerprint.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth" -eq 1' -fa 'doctor' -d 'Look for what would keep this device from signing in elsewhere.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth" -eq 1' -fa 'check-config' -d 'Print every setting with its value and its source.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth" -eq 1' -fa 'help' -d 'Show subcommand help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" url' -l 'url' -d 'The text of the code. Other users may see it; prefer standard input.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" link' -l 'link' -d 'The text of the code, from a link that was opened. Asks for confirmation first.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" image' -l 'image' -d 'A picture of the code, PNG or JPEG: a photograph, or a whole desktop.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" camera' -l 'camera' -d 'Scan with the camera /dev/video0, or with the one that follows.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" screen' -l 'screen' -d 'Scan this device\'s own screen, through the desktop\'s portal.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" tunnel-domain' -l 'tunnel-domain' -d 'The relay to use, by number or host name.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" pinentry' -l 'pinentry' -d 'The program that asks for the PIN and for consent; default: pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" tunnel-token-file' -l 'tunnel-token-file' -d 'A file with the relay\'s token.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" cacert' -l 'cacert' -d 'Trust these certificates (PEM) instead of the system\'s.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan"' -l 'connect-to' -d 'Connect elsewhere, as curl does.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" adapter' -l 'adapter' -d 'The Bluetooth adapter.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" ble-channel' -l 'ble-channel' -d 'Let a device that offers it connect by Bluetooth alone. (default: yes)'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" no-ble-channel' -l 'no-ble-channel' -d 'Let a device that offers it connect by Bluetooth alone. (default: yes)'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" local-services' -l 'local-services' -d 'Answer requests of OpenSSH (ssh:) and pam_u2f (pam://), not only of websites. (default: yes)'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" no-local-services' -l 'no-local-services' -d 'Answer requests of OpenSSH (ssh:) and pam_u2f (pam://), not only of websites. (default: yes)'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" ask-to-link' -l 'ask-to-link' -d 'Ask whether to link a device that offers it, so that it needs no code next time. (default: yes)'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" no-ask-to-link' -l 'no-ask-to-link' -d 'Ask whether to link a device that offers it, so that it needs no code next time. (default: yes)'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" link-as' -l 'link-as' -d 'Link the other device under this name without a question, if it offers that.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" push' -l 'push' -d 'Let a push service (UnifiedPush) wake this device for new links, instead of a connection to the relay. (default: no)'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" no-push' -l 'no-push' -d 'Let a push service (UnifiedPush) wake this device for new links, instead of a connection to the relay. (default: no)'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" json' -l 'json' -d 'Report progress as JSON on standard error, one object per line.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" timeout' -l 'timeout' -d 'How long to wait for the other device, in seconds.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth scan" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth listen"' -l 'connect-to' -d 'Connect elsewhere, as curl does.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth listen" adapter' -l 'adapter' -d 'The Bluetooth adapter.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth listen" tunnel-token-file' -l 'tunnel-token-file' -d 'A file with the relay\'s token.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth listen" cacert' -l 'cacert' -d 'Trust these certificates (PEM) instead of the system\'s.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth listen" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth listen" pinentry' -l 'pinentry' -d 'The program that asks for the PIN and for consent; default: pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth listen" local-services' -l 'local-services' -d 'Answer requests of OpenSSH (ssh:) and pam_u2f (pam://), not only of websites. (default: yes)'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth listen" no-local-services' -l 'no-local-services' -d 'Answer requests of OpenSSH (ssh:) and pam_u2f (pam://), not only of websites. (default: yes)'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth listen" push' -l 'push' -d 'Let a push service (UnifiedPush) wake this device for new links, instead of a connection to the relay. (default: no)'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth listen" no-push' -l 'no-push' -d 'Let a push service (UnifiedPush) wake this device for new links, instead of a connection to the relay. (default: no)'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth listen" push-distributor' -l 'push-distributor' -d 'The push service, if there are several: the last part of its name on the session bus.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth listen" tunnel-domain' -l 'tunnel-domain' -d 'The relay that prepares push messages for new links.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth listen" idle-timeout' -l 'idle-timeout' -d 'Time without work after which the program ends, if only push messages can wake this device.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth listen" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth listen" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth links" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth links" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth links" -eq 1' -fa 'list' -d 'List the linked computers, and those whose links are being revoked.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth links" -eq 1' -fa 'rename' -d 'Change the name of a linked computer on this device.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth links" -eq 1' -fa 'unmute' -d 'Let a muted computer ask again.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth links" -eq 1' -fa 'forget' -d 'Delete a link and revoke it at the relay.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth links list" json' -l 'json' -d 'One JSON object on standard output.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth links list" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth links list" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth links rename" json' -l 'json' -d 'One JSON object on standard output.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth links rename" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth links rename" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth links unmute" json' -l 'json' -d 'One JSON object on standard output.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth links unmute" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth links unmute" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth links forget" json' -l 'json' -d 'One JSON object on standard output.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth links forget"' -l 'connect-to' -d 'Connect elsewhere, as curl does.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth links forget" adapter' -l 'adapter' -d 'The Bluetooth adapter.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth links forget" tunnel-token-file' -l 'tunnel-token-file' -d 'A file with the relay\'s token.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth links forget" cacert' -l 'cacert' -d 'Trust these certificates (PEM) instead of the system\'s.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth links forget" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth links forget" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth setup" tunnel-domain' -l 'tunnel-domain' -d 'The relay to use, by number or host name.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth setup" tunnel-token-file' -l 'tunnel-token-file' -d 'A file with the relay\'s token; saved, too.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth setup" cacert' -l 'cacert' -d 'Trust these certificates (PEM) instead of the system\'s; saved, too.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth setup" connect-to' -l 'connect-to' -d 'For the check: connect elsewhere, as curl does.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth setup" no-check' -l 'no-check' -d 'Save without checking the relay.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth setup" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth setup" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth vault" -eq 1' -fa 'init' -d 'Create a vault, or set up a copied one on this device.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth vault" -eq 1' -fa 'status' -d 'Show the vault\'s location and secrets, without a prompt.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth vault" -eq 1' -fa 'change-pin' -d 'Choose another PIN for this device.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth vault" -eq 1' -fa 'add-passphrase' -d 'Add a passphrase that opens the vault on any device.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth vault" -eq 1' -fa 'recovery-code' -d 'Create a recovery code that opens the vault on any device.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth vault" -eq 1' -fa 'tpm' -d 'Let this computer\'s TPM protect the PIN.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth vault" -eq 1' -fa 'finger' -d 'Let a fingerprint replace the PIN after the first one.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth vault" -eq 1' -fa 'backup' -d 'Write the whole vault to one new file.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth vault" -eq 1' -fa 'restore' -d 'Restore a backup, or merge it into the same vault.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth vault" -eq 1' -fa 'rekey' -d 'Replace the vault key and encrypt everything again.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth vault" -eq 1' -fa 'accept' -d 'Accept a rolled-back vault as it is.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault init" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault init" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault init" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault init" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault status" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault status" json' -l 'json' -d 'One JSON object on standard output.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault status" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault status" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault change-pin" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault change-pin" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault change-pin" forgotten' -l 'forgotten' -d 'Ask for the passphrase or recovery code instead of the PIN.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault change-pin" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault change-pin" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault add-passphrase" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault add-passphrase" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault add-passphrase" replace' -l 'replace' -d 'Delete the existing passphrases.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault add-passphrase" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault add-passphrase" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault recovery-code" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault recovery-code" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault recovery-code" replace' -l 'replace' -d 'Delete the existing recovery codes.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault recovery-code" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault recovery-code" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault tpm" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault tpm" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth vault tpm" -eq 1' -fa 'enable' -d 'Let the TPM protect the PIN from now on.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth vault tpm" -eq 1' -fa 'disable' -d 'Stop using the TPM; the PIN stays the same.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth vault tpm" -eq 1' -fa 'status' -d 'Show the TPM and its count of wrong PINs, without a prompt.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault tpm enable" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault tpm enable" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault tpm enable" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault tpm enable" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault tpm disable" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault tpm disable" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault tpm disable" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault tpm disable" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault tpm status" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault tpm status" json' -l 'json' -d 'One JSON object on standard output.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault tpm status" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault tpm status" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault finger" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault finger" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth vault finger" -eq 1' -fa 'enable' -d 'Allow fingerprints in place of the PIN on this device.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth vault finger" -eq 1' -fa 'disable' -d 'Ask for the PIN for each request again.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth vault finger" -eq 1' -fa 'status' -d 'Show the state of fingerprints, without a prompt.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault finger enable" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault finger enable" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault finger enable" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault finger enable" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault finger disable" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault finger disable" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault finger disable" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault finger status" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault finger status" json' -l 'json' -d 'One JSON object on standard output.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault finger status" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault finger status" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault backup" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault backup" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault backup" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault backup" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault restore" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault restore" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault restore" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault restore" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault rekey" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault rekey" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault rekey" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault rekey" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault accept" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault accept" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault accept" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth vault accept" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth passkeys" -eq 1' -fa 'list' -d 'List all passkeys, the newest first.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth passkeys" -eq 1' -fa 'show' -d 'Show one passkey and its history.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth passkeys" -eq 1' -fa 'rename' -d 'Change the account\'s name that a passkey is shown with.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth passkeys" -eq 1' -fa 'delete' -d 'Delete a passkey permanently on every device.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth passkeys" -eq 1' -fa 'signal' -d 'Hide, show and rename passkeys as a website signals.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_positional "hybrid-auth passkeys" -eq 1' -fa 'history' -d 'Show all requests and their outcomes, the latest first.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys list" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys list" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys list" json' -l 'json' -d 'One JSON object on standard output.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys list" hidden' -l 'hidden' -d 'Also list passkeys that their sites no longer accept.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys list" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys list" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys show" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys show" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys show" json' -l 'json' -d 'One JSON object on standard output.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys show" manage' -l 'manage' -d 'Print the link of the site\'s page for passkeys instead.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys show" cacert' -l 'cacert' -d 'Trust these certificates (PEM) instead of the system\'s.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys show"' -l 'connect-to' -d 'Connect elsewhere, as curl does.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys show" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys show" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys rename" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys rename" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys rename" json' -l 'json' -d 'One JSON object on standard output.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys rename" display-name' -l 'display-name' -d 'The account\'s new display name; default: unchanged.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys rename" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys rename" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys delete" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys delete" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys delete" json' -l 'json' -d 'One JSON object on standard output.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys delete" yes' -l 'yes' -d 'Skip the confirmation; the PIN is still required.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys delete" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys delete" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys signal" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys signal" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys signal" json' -l 'json' -d 'One JSON object on standard output.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys signal" yes' -l 'yes' -d 'Skip the confirmation of new names; the PIN is still required.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys signal" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys signal" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys history" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys history" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys history" json' -l 'json' -d 'One JSON object on standard output.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys history" last' -l 'last' -d 'Maximum number of requests to show.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys history" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth passkeys history" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth export" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth export" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth export" yes' -l 'yes' -d 'Skip the confirmation; the PIN is still required.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth export" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth export" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth import" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth import" pinentry' -l 'pinentry' -d 'The prompt program; default pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth import" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth import" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth agent" socket' -l 'socket' -d 'The socket to create, without a service manager.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth agent" finger-after-suspend' -l 'finger-after-suspend' -d 'Let a fingerprint replace the PIN also after a suspend. (default: no)'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth agent" no-finger-after-suspend' -l 'no-finger-after-suspend' -d 'Let a fingerprint replace the PIN also after a suspend. (default: no)'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth agent" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth agent" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth doctor" vault' -l 'vault' -d 'The directory of the vault; default $XDG_DATA_HOME/hybrid/vault.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth doctor" tunnel-domain' -l 'tunnel-domain' -d 'The relay to use, by number or host name.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth doctor" pinentry' -l 'pinentry' -d 'The program that asks for the PIN and for consent; default: pinentry.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth doctor" tunnel-token-file' -l 'tunnel-token-file' -d 'A file with the relay\'s token.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth doctor" json' -l 'json' -d 'Print one JSON object on standard output, and each check as a line of JSON on standard error.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth doctor" cacert' -l 'cacert' -d 'Trust these certificates (PEM) instead of the system\'s.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth doctor"' -l 'connect-to' -d 'Connect elsewhere, as curl does.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth doctor" adapter' -l 'adapter' -d 'The Bluetooth adapter.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth doctor" timeout' -l 'timeout' -d 'Time limit for all checks together, in seconds.' -rfka ''
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth doctor" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth doctor" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth check-config" json' -l 'json' -d 'Print one JSON array.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth check-config" version' -l 'version' -d 'Show the version.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth check-config" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'hybrid-auth' -n '__hybrid-auth_should_offer_completions_for_flags_or_options "hybrid-auth help" version' -l 'version' -d 'Show the version.'
