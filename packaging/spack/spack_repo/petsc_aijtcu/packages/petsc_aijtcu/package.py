# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

import os

from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class PetscAijtcu(MakefilePackage, CudaPackage):
    """Sparse matrix times block of dense vectors on tensor cores, as a PETSc matrix type."""

    # A release has no public address yet. Spack takes the file from the folder where it is called
    manual_download = True
    url = f"file://{os.getcwd()}/petsc-aijtcu-0.1.0.tar.gz"

    license("BSD-2-Clause", checked_by="petsc-aijtcu")

    version("@VERSION@", sha256="@SHA256@")

    variant("slepc", default=False, description="LOBPCG with whole blocks for SLEPc")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("gmake", type="build")
    depends_on("python@3.8:", type="build")

    # The library fits the release, the scalars and the indices of the PETSc that it is compiled for
    depends_on("petsc@3.24:3.26 +shared+mpi")
    depends_on("petsc+double", when="^petsc+complex")
    depends_on("petsc+cuda", when="+cuda")
    depends_on("petsc~cuda", when="~cuda")
    depends_on("cuda@12:", when="+cuda")
    depends_on("slepc", when="+slepc")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"petsc cuda_arch={arch}", when=f"cuda_arch={arch}")

    conflicts("platform=windows")

    @property
    def petsc(self):
        """What make has to know, as words of its command line."""
        slepc = self.spec["slepc"].prefix if "+slepc" in self.spec else ""
        return [f"PETSC_DIR={self.spec['petsc'].prefix}", "PETSC_ARCH=", f"SLEPC_DIR={slepc}"]

    @property
    def build_targets(self):
        return self.petsc + ["all", "docs"]

    @property
    def install_targets(self):
        return self.petsc + ["install", "DESTDIR=", f"PREFIX={self.prefix}"]

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        library = join_path(self.prefix.lib, "libpetscaijtcu.so")
        env.set("PETSCAIJTCU_OPTIONS", f"-dll_append {library}")
