# Completion of haproxy-k8s-sync(8) for bash.

_haproxy_k8s_sync() {
    local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} words
    # Each is a setting, for any command that reads them.
    local settings='--kubeconfig= --dry-run --log-level='
    COMPREPLY=()
    # bash takes "--color=al" for three words.
    if [ "$current" = = ]; then
        current=''
    elif [ "$option" = = ]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [ "$COMP_CWORD" = 1 ]; then
        words='plan explain doctor release config template services apply view watch check-config copy-to completion help version --help --version'
        words="$words $settings"
    else
        case $option in
        -o | --output)
            words='text json'
            [ "${COMP_WORDS[1]} ${COMP_WORDS[2]-}" != 'template test' ] || words='text junit json'
            ;;
        --color | --colour) words='auto always never' ;;
        --log-level) words='debug info warn error' ;;
        --dry-run) words='true false' ;;
        --kubeconfig) words='' ;;
        --timeout) words='10s 30s 1m 5m' ;;
        --daemon) words='none http://127.0.0.1:8080' ;;
        *)
            case ${COMP_WORDS[1]} in
            plan) words="--output= --color= --timeout= --daemon= --watch $settings --help" ;;
            doctor) words="--output= --color= --timeout= $settings --help" ;;
            release) words="--servers --yes --daemon= --output= --color= --timeout= $settings --help" ;;
            explain) words="--output= --color= --timeout= --watch $settings --help" ;;
            check-config) words="--changed --output= $settings --help" ;;
            version) words='--output= --help' ;;
            completion) [ "$COMP_CWORD" != 2 ] || words='bash zsh fish' ;;
            help) [ "$COMP_CWORD" != 2 ] || words='all settings plan explain doctor release config template services apply view watch check-config copy-to completion' ;;
            config)
                words="--output= --color= --timeout= $settings --help"
                [ "$COMP_CWORD" != 2 ] || words='plan validate apply history rollback --help'
                ;;
            template)
                words='--output= --test= --color= --timeout= --help'
                case "$COMP_CWORD ${COMP_WORDS[2]-}" in
                '2 '*) words='render test validate diff benchmark schema --help' ;;
                *diff) words="$words --against=" ;;
                *benchmark) words="$words --count=" ;;
                esac
                ;;
            services)
                words="--output= --color= --timeout= $settings --help"
                [ "$COMP_CWORD" != 2 ] || words='view explain --help'
                ;;
            *) words='' ;;
            esac
            ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    # A file.
    [ "$option" != --kubeconfig ] || compopt -o default 2>/dev/null
    case "${COMP_WORDS[1]} ${COMP_WORDS[2]-} $COMP_CWORD" in
    'config plan 3' | 'config validate 3' | 'config apply 3' | 'copy-to '*' 2' | 'template '*) compopt -o default 2>/dev/null ;;
    esac
    # A value follows at once.
    [[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
}

complete -F _haproxy_k8s_sync haproxy-k8s-sync haproxy-k8s-sync-as-service
