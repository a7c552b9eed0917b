# What the script by shtab calls. `completion` fills in the names of models.
_code_commit_runs() {
  # No `compgen -W`, which runs commands in the names of folders.
  local file name
  for file in logs/*/events.jsonl; do
    name=${file#logs/} name=${name%/events.jsonl}
    if [[ $name =~ ^[0-9][A-Za-z0-9._-]*$ && $name == "$1"* ]]; then echo "$name"; fi
  done
  compgen -W latest -- "$1"
}
_code_commit_models() {
  case $1 in
    replay/*) _code_commit_runs "${1#replay/}" | sed s,^,replay/, ;;
    *) compgen -W '{models}' -- "$1" ;;
  esac
}
