# Functions for the scripts of this folder. Messages go to stderr: stdout belongs to what the caller reads (make env).

# release petsc|slepc: the release of it that is built for PETSC_VERSION
release() { awk -v version="${PETSC_VERSION:-3.26}" -v package="$1" '$1 == version && $2 == package { print $3 }' "$(dirname "${BASH_SOURCE[0]}")/releases"; }

# The folder where PETSc and SLEPc are built
cache_folder() { echo "${PETSCAIJTCU_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/petsc-aijtcu}"; }

# Disk space of a folder, such as 650 MB
cache_size() { du -sm "$1" 2>/dev/null | awk '{ print $1 " MB" }'; }

# The name under which pkg-config knows PETSc or SLEPc; nothing if it does not
pkg_config_name() {
  local name
  command -v pkg-config >/dev/null || return 0
  for name in "$1" "${1,,}"; do # PETSc installs both names, but distributions may leave one out
    if pkg-config --exists "$name"; then echo "$name"; return; fi
  done
}

say() { printf 'petsc-aijtcu: %s\n' "$*" >&2; }

die() {
  printf 'petsc-aijtcu: error: %s\n' "$1" >&2
  shift
  [ $# -eq 0 ] || printf '  %s\n' "$@" >&2
  exit 1
}

# nvcc is often installed without being on the PATH
find_nvcc() {
  if [ "${CUDA_ARCH:-}" = none ]; then return 0; fi
  command -v nvcc || { [ ! -x /usr/local/cuda/bin/nvcc ] || echo /usr/local/cuda/bin/nvcc; }
}

# Compute capability of the GPU as two digits; nothing without a GPU
gpu_arch() {
  command -v nvidia-smi >/dev/null || return 0
  nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sed -n 's/^\([0-9]\{1,2\}\)\.\([0-9]\)$/\1\2/p;q'
}
