# choose_tests TESTDIR [NAME...]: write the names of the tests to run here, those that match one of the patterns TESTS if
# they are set, to TESTDIR/chosen. Sets gpu (empty where there is none), skipped (how many of those that match need one
# and are left out) and PETSC_OPTIONS, to what every test needs here. The further names are those of test scripts. Where
# nothing matches that is an error.

matching() { # the lines that match TESTS
  local name pattern patterns
  read -ra patterns <<<"${TESTS:-*}"
  while read -r name; do
    for pattern in "${patterns[@]}"; do
      # shellcheck disable=SC2254 # a pattern
      case $name in $pattern) echo "$name" && break ;; esac
    done
  done
}

choose_tests() {
  unset PETSC_OPTIONS # of the caller's shell, perhaps from make env
  export OMPI_MCA_pml=${OMPI_MCA_pml:-ob1} # what Open MPI takes within a machine; it looks for network cards otherwise, for 0.2 s in each process
  gpu='' # a PETSc without CUDA has no tests for it
  if [ -s "$1/device" ] && nvidia-smi -L 2>/dev/null | grep -q GPU; then
    gpu=yes
    cp "$1/all" "$1/runnable"
    export PETSC_OPTIONS=$gpu_mpi_options
  else
    comm -23 "$1/all" "$1/device" >"$1/runnable"
  fi
  matching <"$1/runnable" >"$1/chosen"
  skipped=$(($(matching <"$1/all" | wc -l) - $(wc -l <"$1/chosen")))
  if [ ! -s "$1/chosen" ] && [ "$skipped" = 0 ] && [ -z "$(printf '%s\n' "${@:2}" | matching)" ]; then
    printf "error: no test matches TESTS='%s'\n" "$TESTS"
    printf '  these are patterns for whole names: %s, and those in %s/all\n' "$(printf '%s\n' "${@:2}" | paste -sd, | sed 's/,/, /g')" "$1"
    return 1
  fi >&2
}
