# Environment for MPI programs started by make: any machine, any user, more ranks than cores, several mpiexec at once.

# Open MPI 4 and 5 refuse root, and more ranks than cores, unless told; its ranks of separate mpiexec share the first
# cores when bound
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none
# Containers often forbid the system call behind single copies
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_smsc=^cma
# Without ssh Open MPI 4 stops, even for ranks of this machine
command -v ssh >/dev/null || export OMPI_MCA_plm_rsh_agent=false
# A rank is one thread; nproc believes that variable, so ask it first
cores=$(env -u OMP_NUM_THREADS nproc)
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# What PETSc must be told on a machine with a GPU whose MPI cannot take device memory, which is that of most
# distributions
gpu_mpi_options=''
if nvidia-smi -L 2>/dev/null | grep -q GPU && ! ompi_info --parsable --all 2>/dev/null | grep -q 'mpi_built_with_cuda_support:value:true'; then
  gpu_mpi_options='-use_gpu_aware_mpi 0'
fi
