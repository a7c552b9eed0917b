failed=0
check() {
    [[ $1 == "$2" ]] || { echo "error: expected '$2', got '$1'"; failed=1; }
}
check "$(bash reverse.sh one two three)" $'three two one'
check "$(bash reverse.sh a)" $'a'
check "$(bash reverse.sh 'x y' z)" $'z y x'
exit "$failed"
