#!/usr/bin/env bash
# Run `make test` where nothing is as usual: a clone in a path with spaces and nothing beside it, a
# user without rights or a home, another locale and time zone, and Ctrl-C ignored, as below nohup.
#
#   tests/anywhere.sh                    with python3
#   tests/anywhere.sh python3.12 test    with another Python, and the target of make
#
# Root needs a Python that others can execute, and becomes nobody; other users stay who they are.
set -euo pipefail
python=$(command -v "${1:-python3}")
target=${2:-test}
repository=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap '' INT

git clone --quiet "$repository" "$place/a clone"
mkdir "$place/temporary files"
as_user=()
if [ "$(id -u)" = 0 ]; then
    as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    chown -R 65534:65534 "$place"
fi
locale=$(locale -a | grep -E '^[a-z]{2}_[A-Z]{2}' | grep -v '^en_' | head -n 1 || true)
cd "$place/a clone"
env HOME=/nonexistent TMPDIR="$place/temporary files" TZ=Asia/Kathmandu LC_ALL="${locale:-C}" \
    "${as_user[@]}" make "$target" PYTHON="$python"
