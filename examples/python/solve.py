"""Many right-hand sides, solved together with petsc4py. Nothing here knows the type aijtcu: the options bring it.

    python3 solve.py -dll_append /path/to/libpetscaijtcu.so -mat_type aijtcu
"""
import sys
import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc

n, columns = 50, 8  # points of a grid a side, numbered line by line; right-hand sides
A = PETSc.Mat().create()
A.setSizes(n * n)
A.setFromOptions()
for row in range(*A.getOwnershipRange()):
    for step, value in ((0, 4), (-1, -1), (1, -1), (-n, -1), (n, -1)):
        if 0 <= row + step < n * n:
            A[row, row + step] = value
A.assemble()

B = PETSc.Mat().createDense((A.getSizes()[0], columns))
B.setRandom()
X = B.duplicate()
ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType('cg')
ksp.getPC().setType('jacobi')
ksp.setTolerances(rtol=1e-5)
ksp.setFromOptions()
ksp.matSolve(B, X)
R = A.matMult(X)
R.axpy(-1, B)
assert R.norm() < 1e-4 * B.norm()
PETSc.Sys.Print(A.getType(), columns, 'right-hand sides, norm of the solutions %.2e' % X.norm())
