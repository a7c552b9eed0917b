# What the script by shtab calls. `completion` fills in the names of models.
function _code_commit_runs; echo latest; for each in logs/*/events.jsonl; string split -f 2 / $each; end; end
function _code_commit_models
  if string match -q 'replay/*' -- (commandline -ct); printf 'replay/%s\n' (_code_commit_runs); return; end
  string split ' ' '{models}'
end
