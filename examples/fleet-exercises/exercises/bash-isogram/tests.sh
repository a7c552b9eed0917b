failed=0
check() {
    [[ $1 == "$2" ]] || { echo "error: expected '$2', got '$1'"; failed=1; }
}
check "$(bash isogram.sh lumberjacks && echo yes)" $'yes'
check "$(bash isogram.sh 'six-year-old' && echo yes)" $'yes'
check "$(bash isogram.sh isograms || echo no)" $'no'
check "$(bash isogram.sh 'Alpha' || echo no)" $'no'
exit "$failed"
