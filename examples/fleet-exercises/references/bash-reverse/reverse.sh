# The words of one argument count, too.
reversed=()
for word in $*; do reversed=("$word" "${reversed[@]}"); done
echo "${reversed[*]}"
