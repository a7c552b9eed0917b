# What the script by shtab calls. `completion` fills in the names of models.
_code_commit_runs() { compgen -W "$(compgen -G 'logs/*/events.jsonl' | cut -d/ -f2) latest" -- "$1"; }
_code_commit_models() {
  case $1 in
    replay/*) _code_commit_runs "${1#replay/}" | sed s,^,replay/, ;;
    *) compgen -W '{models}' -- "$1" ;;
  esac
}
