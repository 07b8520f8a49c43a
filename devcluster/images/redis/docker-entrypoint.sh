#!/bin/sh
# As in the public image: arguments that are only options belong to redis-server, and the server answers other pods, which
# Debian's build refuses without a password unless told so.
set -e
if [ "${1#-}" != "$1" ] || [ "${1%.conf}" != "$1" ]; then
    set -- redis-server "$@"
fi
if [ "$1" = redis-server ]; then
    shift
    exec redis-server "$@" --protected-mode no
fi
exec "$@"
