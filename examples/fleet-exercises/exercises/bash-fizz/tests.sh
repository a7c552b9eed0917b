failed=0
check() {
    [[ $1 == "$2" ]] || { echo "error: expected '$2', got '$1'"; failed=1; }
}
check "$(bash fizz.sh 5)" $'1\n2\nFizz\n4\nBuzz'
check "$(bash fizz.sh 15 | tail -n 1)" $'FizzBuzz'
check "$(bash fizz.sh 0)" $''
exit "$failed"
