"""Vibration modes of a bracket: K x = (2 pi f)^2 M x by slepc4py's LOBPCG, preconditioned with gamg.

scikit-fem makes the mesh and the matrices. The lowest modes are found with each type of -types, and must agree. They
are M-orthogonal and have small residuals. A body that is not too large is also given to SciPy, whose method is another.

    python3 modes.py -dll_append /path/to/libpetscaijtcu.so
    python3 modes.py -dll_append ... -refine 4 -types aijcusparse,aijtcu -picture modes.png"""
import sys
import time
import slepc4py

slepc4py.init(sys.argv)
import numpy as np
from petsc4py import PETSc
from slepc4py import SLEPc
from bracket import Bracket, machine, matrix, write_table

options = PETSc.Options()
refine, modes = options.getInt('refine', 1), options.getInt('modes', 12)
types = options.getString('types', 'aij,aijtcu').split(',')


def solve(body, M, kind, modes):
    K, M = matrix(body.stiffness, kind), matrix(M, kind)
    at = PETSc.Vec().createWithArray(body.coordinates().ravel(), bsize=3, comm=PETSc.COMM_SELF)
    K.setNearNullSpace(PETSc.NullSpace().createRigidBody(at))
    eps = SLEPc.EPS().create(PETSc.COMM_SELF)
    eps.setOperators(K, M)
    eps.setProblemType(SLEPc.EPS.ProblemType.GHEP)
    eps.setType('lobpcg')
    eps.setLOBPCGBlockSize(2 * modes)
    eps.setWhichEigenpairs(SLEPc.EPS.Which.SMALLEST_REAL)
    eps.setDimensions(modes, 6 * modes)
    eps.setTolerances(1e-6, 200)
    st = eps.getST()
    st.setType('precond')
    st.getKSP().setType('preonly')
    st.getKSP().getPC().setType('gamg')
    eps.setFromOptions()
    start = time.perf_counter()
    eps.setUp()
    setup = time.perf_counter() - start
    start = time.perf_counter()
    eps.solve()
    return K, M, eps, setup, time.perf_counter() - start


body = Bracket(refine)
mass = body.mass()
n = body.stiffness.shape[0]
print('%d unknowns, %d nonzeros, %d modes' % (n, body.stiffness.nnz, modes))
rows, first = [], None
small = Bracket(1) if refine > 1 else body
for kind in types:
    solve(small, small.mass() if small is not body else mass, kind, 2)  # what the first use of a GPU takes is no part of it
    K, M, eps, setup, seconds = solve(body, mass, kind, modes)
    assert eps.getConverged() >= modes, 'only %d modes converged: %d' % (eps.getConverged(), eps.getConvergedReason())
    values = np.array([eps.getEigenvalue(i).real for i in range(modes)])
    residual = max(eps.computeError(i, SLEPc.EPS.ErrorType.RELATIVE) for i in range(modes))
    x = K.createVecRight()
    vectors = np.empty((n, modes))
    for i in range(modes):
        eps.getEigenvector(i, x)
        vectors[:, i] = x.getArray()
    product = vectors.T @ (mass @ vectors)
    orthogonality = abs(product / np.sqrt(np.outer(np.diag(product), np.diag(product))) - np.eye(modes)).max()
    first = values if first is None else first
    difference = abs(values / first - 1).max()
    assert residual < 1e-5 and orthogonality < 1e-6 and difference < 1e-8, (residual, orthogonality, difference)
    print('%-20s %3d iterations, set-up %.3f s, solve %8.3f s, residual %.0e, orthogonality %.0e' % (K.getType(), eps.getIterationNumber(), setup, seconds, residual, orthogonality))
    rows.append({'program': 'modes', 'rows': n, 'nonzeros': body.stiffness.nnz, 'columns': 2 * modes, 'solver': 'lobpcg-' + eps.getST().getKSP().getPC().getType(), 'type': K.getType(),
                 'way': '%d iterations' % eps.getIterationNumber(), 'setup_s': '%.4e' % setup, 'solve_s': '%.4e' % seconds,
                 'residual': '%.1e' % residual, 'difference': '%.1e' % difference, **machine()})
frequencies = np.sqrt(values) / (2 * np.pi)
print('frequencies in Hz:', ' '.join('%.1f' % f for f in frequencies))
if n < 20000:
    from scipy.sparse.linalg import eigsh

    other = np.sort(eigsh(body.stiffness, modes, mass, sigma=0, return_eigenvectors=False))
    print('largest difference to SciPy: %.0e' % abs(values / other - 1).max())
    assert abs(values / other - 1).max() < 1e-7
write_table(options.getString('csv', ''), rows)

if options.hasName('picture'):
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(13, 4))
    for i in range(4):
        body.draw(figure.add_subplot(1, 4, i + 1, projection='3d'), vectors[:, i], '%.0f Hz' % frequencies[i])
    figure.tight_layout()
    figure.savefig(options.getString('picture'), dpi=90)
