# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts beside it: where things lie, and progress lines.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${PLUMB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plumb}
export PLUMB_CACHE=$cache
export CCACHE_DIR=${CCACHE_DIR:-$cache/ccache}
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros,include_file_mtime,include_file_ctime}
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root}
export CCACHE_NOHASHDIR=1
# What is not in the cache is compiled at once: no preprocessing first, only to look for it.
export CCACHE_DEPEND=${CCACHE_DEPEND:-1}
jobs=${PLUMB_JOBS:-$(nproc)}
mkdir -p "$cache"
[ -d "$cache/cmake/bin" ] && PATH=$PATH:$cache/cmake/bin

started=$SECONDS
step() { printf '\n[%3d s] %s\n' $((SECONDS - started)) "$*" >&2; }
fail() { printf 'error: %s\n' "$*" >&2; exit 3; }
version_of() { sed -n "s/^$1=//p" "$root/ci/versions"; }
# configure PRESET
configure() { cmake --preset "$1" >"$cache/configure.log" || { cat "$cache/configure.log" >&2; fail "configuring failed"; }; }
