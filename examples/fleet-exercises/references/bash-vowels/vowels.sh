only=${1//[!aeiouAEIOU]/}
echo "${#only}"
