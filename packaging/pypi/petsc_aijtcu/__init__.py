"""The matrix type MATAIJTCU of PETSc, compiled for one PETSc: where it is, and how petsc4py gets to know it."""
import os


def get_config():
    """PREFIX, LIBRARY and VERSION of petsc-aijtcu; PETSC_DIR and PETSC_ARCH of the PETSc for which it was compiled."""
    from ._built import PETSC

    prefix = os.path.dirname(os.path.abspath(__file__))
    config = {'PREFIX': prefix, 'LIBRARY': os.path.join(prefix, 'lib', 'libpetscaijtcu.so')}
    with open(os.path.join(prefix, 'include', 'petscaijtcu.h')) as f:
        words = [line.split() for line in f if line.startswith('#define PETSCAIJTCU_VERSION_')]
    config['VERSION'] = '.'.join(number for _, _, number in words)
    if not PETSC:  # that of the package petsc
        import petsc

        config['PETSC_DIR'], config['PETSC_ARCH'] = petsc.get_config()['PETSC_DIR'], ''
    config.update(PETSC)
    return config


def register():
    """Make the type known to the PETSc of petsc4py. Options of petsc4py.init() count, if it was called before."""
    import ctypes
    from petsc4py import PETSc

    error = ctypes.CDLL(get_config()['LIBRARY']).PetscDLLibraryRegister_petscaijtcu()
    if error:
        raise PETSc.Error(error)
