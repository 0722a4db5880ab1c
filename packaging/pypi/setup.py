"""Compile the library for a PETSc and put it into the package petsc_aijtcu.

The PETSc is that of PETSC_DIR and PETSC_ARCH, and SLEPC_DIR may name a SLEPc with it. Without PETSC_DIR it is that of the package petsc, which pip installs
then. The library runs make in the root of the source distribution."""
import os
import re
import shutil
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    try:
        from wheel.bdist_wheel import bdist_wheel
    except ImportError:
        bdist_wheel = None  # a source distribution needs none

HERE = os.path.dirname(os.path.abspath(__file__))


def version_of(header, package):
    """The numbers of a version, from the header that defines them."""
    with open(header) as f:
        return re.findall(r'^#define %s_VERSION_(?:MAJOR|MINOR|SUBMINOR) +(\d+)' % package, f.read(), re.M)


def petsc_package():
    """The folder of the package petsc; None while pip has not installed it."""
    try:
        import petsc
    except ImportError:
        return None
    return petsc.get_config()['PETSC_DIR']


def requirements():
    """The package petsc, unless another PETSc is named: any that will do to compile, and after that the same release."""
    if os.environ.get('PETSC_DIR'):
        return []
    folder = petsc_package()
    if folder is None:
        return ['petsc>=3.24,<3.27']
    major, minor = map(int, version_of(os.path.join(folder, 'include', 'petscversion.h'), 'PETSC')[:2])
    return ['petsc>=%d.%d,<%d.%d' % (major, minor, major, minor + 1)]


class Build(build_py):
    def run(self):
        build_py.run(self)
        package = os.path.join(os.path.abspath(self.build_lib), 'petsc_aijtcu')
        named = os.environ.get('PETSC_DIR')
        folder = named or petsc_package()
        if folder is None:
            sys.exit('petsc-aijtcu needs PETSc: set PETSC_DIR and PETSC_ARCH, or install the package petsc')
        petsc = {'PETSC_DIR': folder}
        petsc.update((key, os.environ.get(key, '') if named else '') for key in ('PETSC_ARCH', 'SLEPC_DIR'))
        make = [shutil.which('gmake') or 'make', '-C', HERE, '-j%d' % (os.cpu_count() or 1), 'install', 'DESTDIR=', 'PREFIX=' + package]
        if not named:
            make.append('RPATH=$$ORIGIN/../../petsc/lib')  # the two packages lie side by side
        subprocess.run(make + ['%s=%s' % item for item in petsc.items()], check=True)
        # A wheel is installed anywhere, so nothing in it may know where it was made
        shutil.rmtree(os.path.join(package, 'share', 'modulefiles'))
        pc = os.path.join(package, 'lib', 'pkgconfig', 'petscaijtcu.pc')
        with open(pc) as f:
            text = f.read()
        with open(pc, 'w') as f:
            f.write(re.sub('^prefix=.*', 'prefix=${pcfiledir}/../..', text, flags=re.M))
        with open(os.path.join(package, '_built.py'), 'w') as f:
            f.write('"""The PETSc for which the library was compiled."""\nPETSC = %r\n' % ({key: petsc[key] for key in ('PETSC_DIR', 'PETSC_ARCH')} if named else {}))


commands = {'build_py': Build}
if bdist_wheel:

    class Wheel(bdist_wheel):
        def get_tag(self):
            return ('py3', 'none', bdist_wheel.get_tag(self)[2])  # nothing in it depends on the version of Python

    commands['bdist_wheel'] = Wheel


class Compiled(Distribution):
    def has_ext_modules(self):
        return True


with open(os.path.join(HERE, 'README.md')) as f:
    text = f.read()
setup(
    name='petsc-aijtcu',
    version='.'.join(version_of(os.path.join(HERE, 'include', 'petscaijtcu.h'), 'PETSCAIJTCU')),
    description='Sparse matrix times block of dense vectors on tensor cores, as a PETSc matrix type',
    long_description=text,
    long_description_content_type='text/markdown',
    license='BSD-2-Clause',
    keywords=['PETSc', 'sparse', 'GPU', 'tensor cores'],
    python_requires='>=3.8',
    packages=['petsc_aijtcu'],
    install_requires=requirements(),
    setup_requires=requirements(),
    cmdclass=commands,
    distclass=Compiled,
    zip_safe=False,
)
