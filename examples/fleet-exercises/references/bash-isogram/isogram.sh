letters=$(tr -cd '[:alpha:]' <<<"$1" | tr '[:upper:]' '[:lower:]' | fold -w 1 | sort | uniq -d)
[[ -z $letters ]]
