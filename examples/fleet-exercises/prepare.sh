#!/usr/bin/env bash
# Make a repository of each exercise in a new folder, beside a copy of the fleet file: bash prepare.sh FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir "$1"
cp "$here/fleet.toml" "$1"
for exercise in "$here"/exercises/*; do
    folder=$1/$(basename "$exercise")
    cp -R "$exercise" "$folder"
    git -C "$folder" init -q
    git -C "$folder" add -A
    git -C "$folder" -c user.name=exercises -c user.email=exercises@example.org commit -q -m "Begin the exercise"
done
