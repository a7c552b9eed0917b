bash tests.sh
