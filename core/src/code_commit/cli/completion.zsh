# What the script by shtab calls. `completion` fills in the names of models.
_code_commit_runs() { compadd -- latest logs/[0-9]*/events.jsonl(N:h:t) }
_code_commit_models() {
  local -a runs=(latest logs/[0-9]*/events.jsonl(N:h:t))
  [[ $PREFIX != replay/* ]] && compadd -- {models} || compadd -- replay/$^runs
}
