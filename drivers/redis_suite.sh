#!/bin/sh
# Redis's own tests (TCL, of its source tree) against a server that runs already: how many pass, and which fail.
#
#     git clone --depth 1 --branch 7.0.15 https://github.com/redis/redis
#     picklock serve redis --listen 127.0.0.1:7391 &
#     drivers/redis_suite.sh redis 7391 [unit/expire …]
#
# Needs tclsh. The tests flush the server. Left out are those that read Redis's own insides (`DEBUG`, `OBJECT`,
# replication by `SYNC`, `SAVE`): for a count to compare with, run it on a `redis-server` as well.
set -eu
source=$1
port=$2
shift 2
[ $# -gt 0 ] || set -- unit/type/string unit/expire unit/scripting unit/multi unit/pubsub
cd "$source"
for unit in "$@"; do
    said=$(timeout 600 tclsh tests/test_helper.tcl --durable --host 127.0.0.1 --port "$port" --ignore-encoding \
        --ignore-digest --tags "-needs:debug -needs:repl -needs:save" --single "$unit" 2>&1 |
        sed 's/\x1b\[[0-9;]*m//g' || true)
    echo "$unit: $(echo "$said" | grep -c '^\[ok\]') passed, $(echo "$said" | grep -c '^\[\(err\|exception\)\]') failed"
    echo "$said" | grep '^\[\(err\|exception\)\]' | sed 's/^/  /' || true
done
