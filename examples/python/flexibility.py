"""The flexibility matrix of a bracket: how far each of 441 points goes down under a unit load at each other.

scikit-fem makes the mesh and the matrix, petsc4py solves for all loads at once by KSPMatSolve(). It does so with each
type of -types, and for the first 40 loads one by one (-single). The results must agree, and satisfy Maxwell's and
Betti's law of reciprocity.

    python3 flexibility.py -dll_append /path/to/libpetscaijtcu.so       small, without a GPU: 40 of the loads, a minute
    python3 flexibility.py -dll_append ... -refine 2 -types aijcusparse,aijtcu -picture flexibility.png       on a GPU
    python3 flexibility.py -dll_append ... -loads 441 -ksp_type bcg                           all loads, another solver"""
import sys
import time
import petsc4py

petsc4py.init(sys.argv)
import numpy as np
from petsc4py import PETSc
from bracket import GRID, Bracket, has_gpu, machine, matrix, on_device, write_table

options = PETSc.Options()
refine, count = options.getInt('refine', 1), options.getInt('loads', GRID**2 if has_gpu() else 40)
single = min(options.getInt('single', 40), count)
types = options.getString('types', 'aij,aijtcu').split(',')


def solver(A):
    ksp = PETSc.KSP().create(PETSc.COMM_SELF)
    ksp.setOperators(A)
    ksp.setType('cg')
    ksp.getPC().setType('jacobi')
    ksp.setTolerances(rtol=1e-6)
    ksp.setFromOptions()
    ksp.setUp()
    return ksp


def loads(A, points):
    """A column for each point, with a force of -1 N there; on the device if A is."""
    B = PETSc.Mat().createDense((A.getSize()[0], len(points)), comm=PETSc.COMM_SELF)
    B.setUp()
    for column, row in enumerate(points):
        B[row, column] = -1
    B.assemble()
    return B.convert('densecuda') if on_device(A) else B


def all_at_once(ksp, points):
    B = loads(ksp.getOperators()[0], points)
    X = B.duplicate()
    start = time.perf_counter()
    ksp.matSolve(B, X)
    X.norm()  # wait for the device
    return X, time.perf_counter() - start


def one_by_one(ksp, points):
    x, b = ksp.getOperators()[0].createVecs()
    X = PETSc.Mat().createDense((x.getSize(), len(points)), comm=PETSc.COMM_SELF)
    X.setUp()
    columns, seconds = X.getDenseArray(), 0
    for column, row in enumerate(points):
        b.set(0)
        b[row] = -1
        b.assemble()
        start = time.perf_counter()
        ksp.solve(b, x)
        x.norm()
        seconds += time.perf_counter() - start
        columns[:, column] = x.getArray()
    return X, seconds


body = Bracket(refine)
points = body.loaded[:count]
n = body.stiffness.shape[0]
print('%d unknowns, %d nonzeros, %d loads' % (n, body.stiffness.nnz, len(points)))
rows, first = [], None
for kind, solve, some in [(kind, all_at_once, points) for kind in types] + [(types[0], one_by_one, points[:single])]:
    A = matrix(body.stiffness, kind)
    solve(solver(A), some[:2])  # what the first use of a GPU takes is no part of it
    A = matrix(body.stiffness, kind)
    start = time.perf_counter()
    ksp = solver(A)
    setup = time.perf_counter() - start
    X, seconds = solve(ksp, some)
    B = loads(A, some)
    R = A.matMult(X if X.getType() == B.getType() else X.convert(B.getType()))
    R.axpy(-1, B)
    U = X.getDenseArray(readonly=True)
    flexibility = -U[some]  # downwards, m/N
    asymmetry = abs(flexibility - flexibility.T).max() / abs(flexibility).max()
    lowest = np.linalg.eigvalsh((flexibility + flexibility.T) / 2)[0]
    if first is None:
        first, displacement = flexibility, U[:, -1].copy()
    difference = abs(flexibility - first[: len(some), : len(some)]).max() / abs(first).max()
    residual = R.norm() / B.norm()
    assert residual < 1e-5 and asymmetry < 1e-4 and difference < 1e-4 and lowest > 0, (residual, asymmetry, difference, lowest)
    way = 'one by one' if solve is one_by_one else 'all at once'
    print('%-20s %3d loads %-11s  set-up %.3f s, solve %8.3f s, residual %.0e, asymmetry %.0e, difference %.0e' % (A.getType(), len(some), way, setup, seconds, residual, asymmetry, difference), flush=True)
    rows.append({'program': 'flexibility', 'rows': n, 'nonzeros': body.stiffness.nnz, 'columns': len(some), 'solver': ksp.getType() + '-' + ksp.getPC().getType(),
                 'type': A.getType(), 'way': way, 'setup_s': '%.4e' % setup, 'solve_s': '%.4e' % seconds, 'residual': '%.1e' % residual, 'difference': '%.1e' % difference, **machine()})
    write_table(options.getString('csv', ''), rows[-1:])
print('1 kN at point %d moves it by %.4f mm, and point 1 by %.2e mm' % (len(points), 1e6 * first[-1, -1], 1e6 * first[0, -1]))

if options.hasName('picture'):
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(13, 4))
    body.draw(figure.add_subplot(131, projection='3d'), displacement, 'under load %d' % len(points))
    if len(points) == GRID**2:
        axes = figure.add_subplot(132)
        image = axes.imshow(1e6 * np.diag(first).reshape(GRID, GRID), origin='lower', extent=(0, 100, 20, 120))
        axes.set(title='mm that a point yields to 1 kN', xlabel='y (mm)', ylabel='x (mm)')
        figure.colorbar(image)
    axes = figure.add_subplot(133)
    names = ['%s,\n%s' % (row['type'], row['way']) for row in rows]
    bars = axes.barh(names, [1e3 * float(row['solve_s']) / row['columns'] for row in rows], color=['tab:green' if row['type'].endswith('tcu') else '0.6' for row in rows])
    axes.bar_label(bars, fmt=' %.3g ms')
    axes.set(title='%d loads, %d unknowns' % (len(points), n), xlabel='ms a load (%s)' % rows[0]['machine'])
    axes.margins(x=0.2)
    figure.tight_layout()
    figure.savefig(options.getString('picture'), dpi=90)
