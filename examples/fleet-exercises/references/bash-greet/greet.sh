echo "Hello, ${1:-you}!"
