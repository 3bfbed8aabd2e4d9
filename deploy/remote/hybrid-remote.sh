# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Tells this user's browsers that an ssh session with a forwarded agent has begun.
if [ -n "${SSH_CONNECTION-}" ] && [ -n "${SSH_AUTH_SOCK-}" ] && [ -x /usr/bin/hybrid-remote ]; then
    (/usr/bin/hybrid-remote announce </dev/null >/dev/null 2>&1 &)
fi
