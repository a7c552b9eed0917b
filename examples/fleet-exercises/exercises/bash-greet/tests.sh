failed=0
check() {
    [[ $1 == "$2" ]] || { echo "error: expected '$2', got '$1'"; failed=1; }
}
check "$(bash greet.sh Ada)" $'Hello, Ada!'
check "$(bash greet.sh )" $'Hello, you!'
check "$(bash greet.sh 'Ada L.')" $'Hello, Ada L.!'
exit "$failed"
