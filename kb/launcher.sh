#!/bin/sh
# `kb` where no C compiler was at hand when it was installed: kb/launch.py, run by the Python beside this file.
# No `#!python`, which installers replace by a path that must not be long or hold spaces.
self=$0
case $self in */*) ;; *) self=./$self ;; esac
while [ -L "$self" ]; do
    target=$(readlink "$self")
    case $target in /*) self=$target ;; *) self=${self%/*}/$target ;; esac
done
for python in "${self%/*}/python3" "${self%/*}/python"; do
    [ -x "$python" ] && exec "$python" -I -m kb.launch "$@"
done
# Installed into the user's own site, which -I would leave out.
command -v python3 >/dev/null && exec python3 -EP -m kb.launch "$@"
echo "kb: no python3 beside this program or on PATH; install kb-search again" >&2
exit 127
