limit=$1
shift
sum=0
for ((n = 1; n < limit; n++)); do
    for each in "$@"; do
        if ((each && n % each == 0)); then
            ((sum += n))
            break
        fi
    done
done
echo "$sum"
