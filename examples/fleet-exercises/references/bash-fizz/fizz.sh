for ((n = 1; n <= $1; n++)); do
    word=
    ((n % 3)) || word+=Fizz
    ((n % 5)) || word+=Buzz
    echo "${word:-$n}"
done
