"""S .* (X X^T) at the entries of a sparse S, and the softmax of its rows, with petsc4py and ctypes.

    python3 sampled.py -dll_append /path/to/libpetscaijtcu.so -mat_type aijtcu
"""
import ctypes
import sys
import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc

path = PETSc.Options().getString("dll_append", "")
if not path:
    sys.exit('sampled.py needs the library: -dll_append /path/to/libpetscaijtcu.so -mat_type aijtcu, or what make env prints')
library = ctypes.CDLL(path.split(',')[-1])  # of several, the last one, as make env has it
REUSE = 1  # MAT_REUSE_MATRIX


def call(name, *arguments):
    error = getattr(library, name)(*arguments)
    if error:
        raise PETSc.Error(error)


n, columns = 400, 8
S = PETSc.Mat().create()
S.setSizes(n)
S.setFromOptions()
for row in range(*S.getOwnershipRange()):
    for step in (-20, -1, 0, 1, 20):
        if 0 <= row + step < n:
            S[row, row + step] = 1
S.assemble()
X = PETSc.Mat().createDense((S.getSizes()[0], columns))
X.setUp()
for row in range(*X.getOwnershipRange()):
    for column in range(columns):
        X[row, column] = (row * 7 + column * 3) % 11 / 8
X.assemble()

C = S.duplicate()
s, x, c = (ctypes.c_void_p(m.handle) for m in (S, X, C))
call('MatSampledMatTransposeMult', s, x, x, ctypes.c_bool(True), ctypes.c_int(REUSE), ctypes.byref(c))
norm = C.norm()
call('MatSampledSoftmax', c)
PETSc.Sys.Print(S.getType(), '%.6e %.6e' % (norm, C.norm()))
