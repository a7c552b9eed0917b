echo 'not implemented' >&2
exit 2
