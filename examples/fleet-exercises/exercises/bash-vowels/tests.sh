failed=0
check() {
    [[ $1 == "$2" ]] || { echo "error: expected '$2', got '$1'"; failed=1; }
}
check "$(bash vowels.sh Education)" $'5'
check "$(bash vowels.sh rhythm)" $'0'
check "$(bash vowels.sh '')" $'0'
check "$(bash vowels.sh AEIOU)" $'5'
exit "$failed"
