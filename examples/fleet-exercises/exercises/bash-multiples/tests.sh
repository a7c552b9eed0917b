failed=0
check() {
    [[ $1 == "$2" ]] || { echo "error: expected '$2', got '$1'"; failed=1; }
}
check "$(bash multiples.sh 20 3 5)" $'78'
check "$(bash multiples.sh 10 2)" $'20'
check "$(bash multiples.sh 1 7)" $'0'
check "$(bash multiples.sh 10)" $'0'
check "$(bash multiples.sh 10 0 5)" $'5'
exit "$failed"
