# What the shell scripts of tools/ share: where the project and its sources lie, how a step is
# announced, how a run stops, and how many jobs the machine bears. Sourced, never run.
# shellcheck shell=bash

set -Eeuo pipefail
# With it, cd looks in other folders first, and prints which one it took.
unset CDPATH
export LC_ALL=C.UTF-8
export NINJA_STATUS='[%f/%t, %e s] '
# ccache knows a source by the files that the compiler names: no preprocessor runs before it.
export CCACHE_DEPEND=1

# The scripts source this file with `|| exit 1` behind it, which takes -e from what is written here.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 1
# By its own name, also where it is called through a link of another one.
program=$(readlink -f -- "$0") || exit 1
# Used by the scripts that source this file.
# shellcheck disable=SC2034
program=${program##*/}
# Where the user stands, of which relative paths in arguments are.
# shellcheck disable=SC2034
user_folder=$PWD
cd "$root" || exit 1

# say TEXT...: one line on standard output, with the seconds since the script began.
say() {
  printf '[%4d s] %s\n' "$SECONDS" "$*"
}

# die TEXT...: says what is missing and what to do, each argument on its own line, and stops.
die() {
  {
    printf '\ntools/%s: %s\n' "$program" "$1"
    shift
    if (($# > 0)); then printf '  %s\n' "$@"; fi
  } >&2
  exit 1
}

# print_help: the comment that the script begins with.
print_help() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "$root/tools/$program"
}

# sources_matching PATTERN...: sets `sources` to the files of the project with such names.
sources_matching() {
  local -a names=()
  local pattern
  for pattern in "$@"; do names+=(-o -name "$pattern"); done
  # The caller uses it.
  # shellcheck disable=SC2034
  mapfile -d '' -t sources < <(find base storage propagation oltp olap dispatcher workloads cli \
    tests examples docs -type f \( "${names[@]:1}" \) -print0)
  wait "$!" || die "find could not look through the sources; its message is above."
}

# jobs_max: compilers that may run at once: one for each core, with at least 2 GiB of memory each.
jobs_max() {
  local cores memory_kib jobs
  cores=$(nproc)
  memory_kib=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  jobs=$((${memory_kib:-0} / (2 * 1024 * 1024)))
  if ((jobs < 1)); then jobs=1; fi
  if ((jobs > cores)); then jobs=$cores; fi
  echo "$jobs"
}

# configure PRESET
configure() {
  cmake --preset "$1" ||
    die "CMake could not configure the preset '$1'; its message is above." \
      "If it names a missing package: run tools/install, then this command again." \
      "If it says that the source directory differs: remove build/$1 and run this command again."
}

# build PRESET TARGET...: configures and builds; does nothing where everything is up to date.
build() {
  local preset=$1
  shift
  configure "$preset"
  # clang takes its memory by malloc: in huge pages, where there are any, it is 2 to 17 % faster.
  GLIBC_TUNABLES=glibc.malloc.hugetlb=1 \
    cmake --build --preset "$preset" --parallel "$(jobs_max)" --target "$@" ||
    die "The build '$preset' ($*) failed; the compiler's message is above."
}

# make_venv FOLDER REQUIREMENTS: a virtual environment with what the file names; does nothing where
# it is up to date.
make_venv() {
  local folder=$1 requirements=$2 stamp
  stamp=$(python3 --version; cat "$requirements")
  if [[ -x $folder/bin/python && -f $folder/stamp && $(<"$folder/stamp") == "$stamp" ]]; then
    echo "$folder is up to date"
    return
  fi
  rm -rf "$folder"
  python3 -m venv "$folder" ||
    die "python3 could not make the virtual environment $folder." "Is python3-venv installed?"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
    --requirement "$requirements" ||
    die "pip could not install $requirements into $folder; its message is above." \
      "Check that PyPI can be reached, and pip's configuration, then run this command again."
  echo "$stamp" >"$folder/stamp"
}

# compare SCRIPT FOLDER ARGUMENT...: runs a comparison with DuckDB, tools/SCRIPT, which keeps its
# data in build/FOLDER. Where another DuckDB makes the data, tools/requirements_FOLDER.txt goes into
# build/FOLDER/venv.
compare() {
  local script=tools/$1 folder=build/$2 requirements=tools/requirements_$2.txt
  shift 2
  if [[ " $* " == *" --help "* || " $* " == *" -h "* ]]; then
    print_help
    exec python3 "$script" --help
  fi
  # Before minutes of building.
  python3 "$script" --check-arguments "$@" || exit
  build release diptych
  [[ -x .venv/bin/python ]] || tools/test --only venv
  mkdir -p "$folder"
  if [[ -f $requirements ]]; then make_venv "$folder/venv" "$requirements"; fi
  cd "$user_folder"
  exec "$root/.venv/bin/python" "$root/$script" \
    --program "$root/build/release/diptych" --folder "$root/$folder" "$@"
}
