#!/bin/bash

__hybrid-auth_cursor_index_in_current_word() {
    local remaining="${COMP_LINE}"

    local word
    for word in "${COMP_WORDS[@]::COMP_CWORD}"; do
        remaining="${remaining##*([[:space:]])"${word}"*([[:space:]])}"
    done

    local -ir index="$((COMP_POINT - ${#COMP_LINE} + ${#remaining}))"
    if [[ "${index}" -le 0 ]]; then
        printf 0
    else
        printf %s "${index}"
    fi
}

# positional arguments:
#
# - 1: the current (sub)command's count of positional arguments
#
# required variables:
#
# - repeating_flags: the repeating flags that the current (sub)command can accept
# - non_repeating_flags: the non-repeating flags that the current (sub)command can accept
# - repeating_options: the repeating options that the current (sub)command can accept
# - non_repeating_options: the non-repeating options that the current (sub)command can accept
# - positional_number: value ignored
# - unparsed_words: unparsed words from the current command line
#
# modified variables:
#
# - non_repeating_flags: remove flags for this (sub)command that are already on the command line
# - non_repeating_options: remove options for this (sub)command that are already on the command line
# - positional_number: set to the current positional number
# - unparsed_words: remove all flags, options, and option values for this (sub)command
__hybrid-auth_offer_flags_options() {
    local -ir positional_count="${1}"
    positional_number=0

    local was_flag_option_terminator_seen=false
    local is_parsing_option_value=false

    local -ar unparsed_word_indices=("${!unparsed_words[@]}")
    local -i word_index
    for word_index in "${unparsed_word_indices[@]}"; do
        if "${is_parsing_option_value}"; then
            # This word is an option value:
            # Reset marker for next word iff not currently the last word
            [[ "${word_index}" -ne "${unparsed_word_indices[${#unparsed_word_indices[@]} - 1]}" ]] && is_parsing_option_value=false
            unset "unparsed_words[${word_index}]"
            # Do not process this word as a flag or an option
            continue
        fi

        local word="${unparsed_words["${word_index}"]}"
        if ! "${was_flag_option_terminator_seen}"; then
            case "${word}" in
            --)
                unset "unparsed_words[${word_index}]"
                # by itself -- is a flag/option terminator, but if it is the last word, it is the start of a completion
                if [[ "${word_index}" -ne "${unparsed_word_indices[${#unparsed_word_indices[@]} - 1]}" ]]; then
                    was_flag_option_terminator_seen=true
                fi
                continue
                ;;
            -*)
                # ${word} is a flag or an option
                # If ${word} is an option, mark that the next word to be parsed is an option value
                local option
                for option in "${repeating_options[@]}" "${non_repeating_options[@]}"; do
                    [[ "${word}" = "${option}" ]] && is_parsing_option_value=true && break
                done

                # Remove ${word} from ${non_repeating_flags} or ${non_repeating_options} so it isn't offered again
                local not_found=true
                local -i index
                for index in "${!non_repeating_flags[@]}"; do
                    if [[ "${non_repeating_flags[${index}]}" = "${word}" ]]; then
                        unset "non_repeating_flags[${index}]"
                        non_repeating_flags=("${non_repeating_flags[@]}")
                        not_found=false
                        break
                    fi
                done
                if "${not_found}"; then
                    for index in "${!non_repeating_flags[@]}"; do
                        if [[ "${non_repeating_flags[${index}]}" = "${word}" ]]; then
                            unset "non_repeating_flags[${index}]"
                            non_repeating_flags=("${non_repeating_flags[@]}")
                            break
                        fi
                    done
                fi
                unset "unparsed_words[${word_index}]"
                continue
                ;;
            esac
        fi

        # ${word} is neither a flag, nor an option, nor an option value
        if [[ "${positional_number}" -lt "${positional_count}" || "${positional_count}" -lt 0 ]]; then
            # ${word} is a positional
            ((positional_number++))
            unset "unparsed_words[${word_index}]"
        else
            if [[ -z "${word}" ]]; then
                # Could be completing a flag, option, or subcommand
                positional_number=-1
            else
                # ${word} is a subcommand or invalid, so stop processing this (sub)command
                positional_number=-2
            fi
            break
        fi
    done

    unparsed_words=("${unparsed_words[@]}")

    if\
        ! "${was_flag_option_terminator_seen}"\
        && ! "${is_parsing_option_value}"\
        && [[ ("${cur}" = -* && "${positional_number}" -ge 0) || "${positional_number}" -eq -1 ]]
    then
        COMPREPLY+=($(compgen -W "${repeating_flags[*]} ${non_repeating_flags[*]} ${repeating_options[*]} ${non_repeating_options[*]}" -- "${cur}"))
    fi
}

__hybrid-auth_add_completions() {
    local completion
    while IFS='' read -r completion; do
        COMPREPLY+=("${completion}")
    done < <(IFS=$'\n' compgen "${@}" -- "${cur}")
}

__hybrid-auth_custom_complete() {
    if [[ -n "${cur}" || -z ${COMP_WORDS[${COMP_CWORD}]} || "${COMP_LINE:${COMP_POINT}:1}" != ' ' ]]; then
        local -ar words=("${COMP_WORDS[@]}")
    else
        local -ar words=("${COMP_WORDS[@]::${COMP_CWORD}}" '' "${COMP_WORDS[@]:${COMP_CWORD}}")
    fi

    "${COMP_WORDS[0]}" "${@}" "${words[@]}"
}

_hybrid-auth() {
    local state
    state="$(shopt -p;shopt -po)"
    trap "${state//$'\n'/;}" RETURN
    shopt -s extglob
    set +o history +o posix

    local -xr SAP_SHELL=bash
    local -x SAP_SHELL_VERSION
    SAP_SHELL_VERSION="$(IFS='.';printf %s "${BASH_VERSINFO[*]}")"
    local -r SAP_SHELL_VERSION

    local -r cur="${2}"
    local -r prev="${3}"

    local -i positional_number
    local -a unparsed_words=("${COMP_WORDS[@]:1:${COMP_CWORD}}")

    local -a repeating_flags=()
    local -a non_repeating_flags=(--version -h --help)
    local -a repeating_options=()
    local -a non_repeating_options=()
    __hybrid-auth_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    scan|listen|links|setup|vault|passkeys|export|import|agent|doctor|check-config|help)
        # Offer subcommand argument completions
        "_hybrid-auth_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'scan listen links setup vault passkeys export import agent doctor check-config help' -- "${cur}"))
        ;;
    esac
}

_hybrid-auth_scan() {
    repeating_flags=()
    non_repeating_flags=(--camera --screen --ble-channel --no-ble-channel --local-services --no-local-services --ask-to-link --no-ask-to-link --push --no-push --json --version -h --help)
    repeating_options=(--connect-to)
    non_repeating_options=(--url --link --image --vault --tunnel-domain --pinentry --tunnel-token-file --cacert --adapter --link-as --timeout)
    __hybrid-auth_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--url')
        return
        ;;
    '--link')
        return
        ;;
    '--image')
        return
        ;;
    '--vault')
        return
        ;;
    '--tunnel-domain')
        return
        ;;
    '--pinentry')
        return
        ;;
    '--tunnel-token-file')
        return
        ;;
    '--cacert')
        return
        ;;
    '--connect-to')
        return
        ;;
    '--adapter')
        return
        ;;
    '--link-as')
        return
        ;;
    '--timeout')
        return
        ;;
    esac
}

_hybrid-auth_listen() {
    repeating_flags=()
    non_repeating_flags=(--local-services --no-local-services --push --no-push --version -h --help)
    repeating_options=(--connect-to)
    non_repeating_options=(--adapter --tunnel-token-file --cacert --vault --pinentry --push-distributor --tunnel-domain --idle-timeout)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--connect-to')
        return
        ;;
    '--adapter')
        return
        ;;
    '--tunnel-token-file')
        return
        ;;
    '--cacert')
        return
        ;;
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    '--push-distributor')
        return
        ;;
    '--tunnel-domain')
        return
        ;;
    '--idle-timeout')
        return
        ;;
    esac
}

_hybrid-auth_links() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __hybrid-auth_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    list|rename|unmute|forget)
        # Offer subcommand argument completions
        "_hybrid-auth_links_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'list rename unmute forget' -- "${cur}"))
        ;;
    esac
}

_hybrid-auth_links_list() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=()
    __hybrid-auth_offer_flags_options 0
}

_hybrid-auth_links_rename() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=()
    __hybrid-auth_offer_flags_options 2
}

_hybrid-auth_links_unmute() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=()
    __hybrid-auth_offer_flags_options 1
}

_hybrid-auth_links_forget() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=(--connect-to)
    non_repeating_options=(--adapter --tunnel-token-file --cacert)
    __hybrid-auth_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--connect-to')
        return
        ;;
    '--adapter')
        return
        ;;
    '--tunnel-token-file')
        return
        ;;
    '--cacert')
        return
        ;;
    esac
}

_hybrid-auth_setup() {
    repeating_flags=()
    non_repeating_flags=(--no-check --version -h --help)
    repeating_options=()
    non_repeating_options=(--tunnel-domain --tunnel-token-file --cacert --connect-to)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--tunnel-domain')
        return
        ;;
    '--tunnel-token-file')
        return
        ;;
    '--cacert')
        return
        ;;
    '--connect-to')
        return
        ;;
    esac
}

_hybrid-auth_vault() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __hybrid-auth_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    init|status|change-pin|add-passphrase|recovery-code|tpm|finger|backup|restore|rekey|accept)
        # Offer subcommand argument completions
        "_hybrid-auth_vault_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'init status change-pin add-passphrase recovery-code tpm finger backup restore rekey accept' -- "${cur}"))
        ;;
    esac
}

_hybrid-auth_vault_init() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=(--vault --pinentry)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    esac
}

_hybrid-auth_vault_status() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=(--vault)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    esac
}

_hybrid-auth_vault_change-pin() {
    repeating_flags=()
    non_repeating_flags=(--forgotten --version -h --help)
    repeating_options=()
    non_repeating_options=(--vault --pinentry)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    esac
}

_hybrid-auth_vault_add-passphrase() {
    repeating_flags=()
    non_repeating_flags=(--replace --version -h --help)
    repeating_options=()
    non_repeating_options=(--vault --pinentry)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    esac
}

_hybrid-auth_vault_recovery-code() {
    repeating_flags=()
    non_repeating_flags=(--replace --version -h --help)
    repeating_options=()
    non_repeating_options=(--vault --pinentry)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    esac
}

_hybrid-auth_vault_tpm() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __hybrid-auth_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    enable|disable|status)
        # Offer subcommand argument completions
        "_hybrid-auth_vault_tpm_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'enable disable status' -- "${cur}"))
        ;;
    esac
}

_hybrid-auth_vault_tpm_enable() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=(--vault --pinentry)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    esac
}

_hybrid-auth_vault_tpm_disable() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=(--vault --pinentry)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    esac
}

_hybrid-auth_vault_tpm_status() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=(--vault)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    esac
}

_hybrid-auth_vault_finger() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __hybrid-auth_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    enable|disable|status)
        # Offer subcommand argument completions
        "_hybrid-auth_vault_finger_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'enable disable status' -- "${cur}"))
        ;;
    esac
}

_hybrid-auth_vault_finger_enable() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=(--vault --pinentry)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    esac
}

_hybrid-auth_vault_finger_disable() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=(--vault)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    esac
}

_hybrid-auth_vault_finger_status() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=(--vault)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    esac
}

_hybrid-auth_vault_backup() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=(--vault --pinentry)
    __hybrid-auth_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    esac
}

_hybrid-auth_vault_restore() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=(--vault --pinentry)
    __hybrid-auth_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    esac
}

_hybrid-auth_vault_rekey() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=(--vault --pinentry)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    esac
}

_hybrid-auth_vault_accept() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=(--vault --pinentry)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    esac
}

_hybrid-auth_passkeys() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=()
    __hybrid-auth_offer_flags_options 0

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    list|show|rename|delete|signal|history)
        # Offer subcommand argument completions
        "_hybrid-auth_passkeys_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'list show rename delete signal history' -- "${cur}"))
        ;;
    esac
}

_hybrid-auth_passkeys_list() {
    repeating_flags=()
    non_repeating_flags=(--json --hidden --version -h --help)
    repeating_options=()
    non_repeating_options=(--vault --pinentry)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    esac
}

_hybrid-auth_passkeys_show() {
    repeating_flags=()
    non_repeating_flags=(--json --manage --version -h --help)
    repeating_options=(--connect-to)
    non_repeating_options=(--vault --pinentry --cacert)
    __hybrid-auth_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    '--cacert')
        return
        ;;
    '--connect-to')
        return
        ;;
    esac
}

_hybrid-auth_passkeys_rename() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=(--vault --pinentry --display-name)
    __hybrid-auth_offer_flags_options 2

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    '--display-name')
        return
        ;;
    esac
}

_hybrid-auth_passkeys_delete() {
    repeating_flags=()
    non_repeating_flags=(--json --yes --version -h --help)
    repeating_options=()
    non_repeating_options=(--vault --pinentry)
    __hybrid-auth_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    esac
}

_hybrid-auth_passkeys_signal() {
    repeating_flags=()
    non_repeating_flags=(--json --yes --version -h --help)
    repeating_options=()
    non_repeating_options=(--vault --pinentry)
    __hybrid-auth_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    esac
}

_hybrid-auth_passkeys_history() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=(--vault --pinentry --last)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    '--last')
        return
        ;;
    esac
}

_hybrid-auth_export() {
    repeating_flags=()
    non_repeating_flags=(--yes --version -h --help)
    repeating_options=()
    non_repeating_options=(--vault --pinentry)
    __hybrid-auth_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    esac
}

_hybrid-auth_import() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=(--vault --pinentry)
    __hybrid-auth_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--pinentry')
        return
        ;;
    esac
}

_hybrid-auth_agent() {
    repeating_flags=()
    non_repeating_flags=(--finger-after-suspend --no-finger-after-suspend --version -h --help)
    repeating_options=()
    non_repeating_options=(--socket)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--socket')
        return
        ;;
    esac
}

_hybrid-auth_doctor() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=(--connect-to)
    non_repeating_options=(--vault --tunnel-domain --pinentry --tunnel-token-file --cacert --adapter --timeout)
    __hybrid-auth_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--vault')
        return
        ;;
    '--tunnel-domain')
        return
        ;;
    '--pinentry')
        return
        ;;
    '--tunnel-token-file')
        return
        ;;
    '--cacert')
        return
        ;;
    '--connect-to')
        return
        ;;
    '--adapter')
        return
        ;;
    '--timeout')
        return
        ;;
    esac
}

_hybrid-auth_check-config() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=()
    __hybrid-auth_offer_flags_options 0
}

_hybrid-auth_help() {
    repeating_flags=()
    non_repeating_flags=(--version)
    repeating_options=()
    non_repeating_options=()
    __hybrid-auth_offer_flags_options -1
}

complete -o filenames -F _hybrid-auth hybrid-auth
