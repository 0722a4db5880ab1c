"""A steel bracket, its mesh and its matrices by scikit-fem, for flexibility.py and modes.py.

An upright plate, clamped at its back, holds a square shelf of 100 x 100 x 20 mm. Elements are hexahedra of 5 mm, or of
an n-th of that. Nothing here is parallel."""
import csv
import os
import subprocess
import sys

import numpy as np
from petsc4py import PETSc
from skfem import Basis, BilinearForm, ElementHex1, ElementVector, MeshHex
from skfem.helpers import dot
from skfem.models.elasticity import lame_parameters, linear_elasticity

GRID = 21  # points a side of the shelf that are loaded; 441 in all
E, NU, DENSITY = 210e9, 0.3, 7850.0


class Bracket:
    """points, quads of the surface; stiffness and mass of what is not clamped, in SI units; free: unknowns of them"""

    def __init__(self, refine=1):
        h = 0.005 / refine
        ticks = lambda length: h * np.arange(round(length / h) + 1)
        mesh = MeshHex.init_tensor(ticks(0.12), ticks(0.10), ticks(0.10))
        x, _, z = mesh.p[:, mesh.t].mean(axis=1)
        mesh = mesh.restrict(np.flatnonzero((x < 0.02) | (z > 0.08)))
        self.points = mesh.p
        self.quads = mesh.facets[:, mesh.boundary_facets()]
        basis = Basis(mesh, ElementVector(ElementHex1()), intorder=2)
        self.nodal = basis.nodal_dofs  # three unknowns of each point, one after the other
        clamped = np.zeros(basis.N, bool)
        clamped[self.nodal[:, mesh.p[0] < h / 2]] = True
        self.free = np.flatnonzero(~clamped)
        self.number = np.full(basis.N, -1)  # of an unknown among the free ones
        self.number[self.free] = np.arange(self.free.size)
        self.stiffness = self.restrict(linear_elasticity(*lame_parameters(E, NU)).assemble(basis))
        self.basis = basis
        # The loaded points: a grid on top of the shelf, and the unknowns of their vertical displacement
        spacing = 0.1 / (GRID - 1)
        steps = [(mesh.p[0] - 0.02) / spacing, mesh.p[1] / spacing]
        near = (mesh.p[2] > 0.1 - h / 2) & (steps[0] > -1e-6)
        for step in steps:
            near &= abs(step - np.round(step)) < 1e-6
        loaded = np.flatnonzero(near)
        loaded = loaded[np.lexsort((np.round(steps[1][loaded]), np.round(steps[0][loaded])))]
        self.loaded = self.number[self.nodal[2, loaded]]
        assert self.loaded.size == GRID**2 and self.loaded.min() >= 0

    def restrict(self, matrix):
        matrix = matrix.tocsr()[self.free][:, self.free]
        matrix.sort_indices()
        return matrix

    def mass(self):
        return self.restrict(BilinearForm(lambda u, v, w: DENSITY * dot(u, v)).assemble(self.basis))

    def displacement(self, free):
        """Of all points, 3 x points, from the free unknowns."""
        u = np.zeros(self.number.size)
        u[self.free] = free
        return u[self.nodal]

    def coordinates(self):
        """Of the points that are not clamped, as PETSc takes them for the rigid motions."""
        return self.points[:, self.number[self.nodal[0]] >= 0].T.copy()

    def draw(self, axes, free, title):
        """The deformed surface, coloured by the displacement, with the largest one at a tenth of the shelf."""
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection
        import matplotlib

        u = self.displacement(free)
        size = np.linalg.norm(u, axis=0)
        at = (self.points + u * 0.01 / size.max()).T
        colour = matplotlib.colormaps['viridis'](size[self.quads].mean(axis=0) / size.max())
        axes.add_collection3d(Poly3DCollection(at[self.quads.T], facecolors=colour, edgecolors='none'))
        axes.set(xlim=(0, 0.12), ylim=(0, 0.12), zlim=(0, 0.12), title=title)
        axes.view_init(20, -50)
        axes.set_axis_off()


def matrix(csr, kind, block=3):
    """A matrix of PETSc of the type kind."""
    A = PETSc.Mat().create(PETSC_SELF)
    A.setSizes(csr.shape)
    A.setBlockSize(block)
    A.setType(kind)
    A.setPreallocationCSR((csr.indptr.astype(PETSc.IntType), csr.indices.astype(PETSc.IntType), csr.data))
    A.assemble()
    return A


def on_device(A):
    return 'cuda' in A.createVecRight().getType()


PETSC_SELF = PETSc.COMM_SELF


def machine():
    """commit, PETSc, GPU or processor, as the tables of test/results have them."""
    gpu = subprocess.run(['nvidia-smi', '--query-gpu=name', '--format=csv,noheader'], capture_output=True, text=True).stdout if has_gpu() else ''
    return {'commit': PETSc.Options().getString('commit', 'unknown'), 'petsc': '.'.join(map(str, PETSc.Sys.getVersion())), 'machine': gpu.strip().split('\n')[0] or 'host'}


def has_gpu():
    return os.path.exists('/dev/nvidia0') or os.path.exists('/dev/nvidiactl')


def write_table(name, rows):
    if name:
        new = not os.path.exists(name)
        with open(name, 'a', newline='') as f:
            writer = csv.DictWriter(f, rows[0].keys(), lineterminator='\n')
            if new:
                writer.writeheader()
            writer.writerows(rows)
