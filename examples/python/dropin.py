"""The lowest eigenvalues of a Laplacian with slepc4py. Nothing here knows the type aijtcu: the options bring it.

    python3 dropin.py -dll_append /path/to/libpetscaijtcu.so -mat_type aijtcu
"""
import sys
import slepc4py

slepc4py.init(sys.argv)
from petsc4py import PETSc
from slepc4py import SLEPc

n = 50  # points of a grid a side, numbered line by line
A = PETSc.Mat().create()
A.setSizes(n * n)
A.setFromOptions()
for row in range(*A.getOwnershipRange()):
    for step, value in ((0, 4), (-1, -1), (1, -1), (-n, -1), (n, -1)):
        if 0 <= row + step < n * n:
            A[row, row + step] = value
A.assemble()

eps = SLEPc.EPS().create()
eps.setOperators(A)
eps.setProblemType(SLEPc.EPS.ProblemType.HEP)
eps.setType(SLEPc.EPS.Type.LOBPCG)
eps.setDimensions(4)
eps.setTolerances(1e-5, 500)
eps.setFromOptions()
eps.solve()
PETSc.Sys.Print(A.getType(), *("%.4e" % eps.getEigenvalue(i).real for i in range(eps.getConverged())))
