import os
import config.package

class Configure(config.package.Package):
  def __init__(self, framework):
    config.package.Package.__init__(self, framework)
    self.version                = '0.1.0'
    self.download               = ['file:///a-release-has-no-public-address-yet/petsc-aijtcu-'+self.version+'.tar.gz']
    self.downloaddirnames       = ['petsc-aijtcu','petscaijtcu']
    self.precisions             = ['single','double']
    self.skippackagewithoptions = 1
    self.linkedbypetsc          = 0
    self.builtafterpetsc        = 1
    return

  def setupDependencies(self, framework):
    config.package.Package.setupDependencies(self, framework)
    self.sharedLibraries = framework.require('PETSc.options.sharedLibraries',self)
    self.mpi             = framework.require('config.packages.MPI',self)
    self.blasLapack      = framework.require('config.packages.BlasLapack',self)
    self.cuda            = framework.require('config.packages.CUDA',self)
    self.slepc           = framework.require('config.packages.SLEPc',self)
    self.deps            = [self.blasLapack]
    self.odeps           = [self.mpi,self.cuda,self.slepc]
    return

  def consistencyChecks(self):
    config.package.Package.consistencyChecks(self)
    if self.argDB['download-petscaijtcu'] and not isinstance(self.argDB['download-petscaijtcu'],str):
      raise RuntimeError('petsc-aijtcu has no public address yet. Use --download-petscaijtcu=/path/to/petsc-aijtcu-'+self.version+'.tar.gz, a file that its "make dist" makes')
    return

  def Install(self):
    if not self.checkSharedLibrariesEnabled():
      raise RuntimeError('petsc-aijtcu is loaded at run time, and so requires --with-shared-libraries')
    if self.argDB['prefix'] and not 'package-prefix-hash' in self.argDB:
      prefix = os.path.abspath(os.path.expanduser(self.argDB['prefix']))
      petsc  = 'PETSC_DIR='+prefix+' PETSC_ARCH='
    else:
      prefix = os.path.join(self.petscdir.dir,self.arch)
      petsc  = 'PETSC_DIR='+self.petscdir.dir+' PETSC_ARCH='+self.arch
    # A SLEPC_DIR of the environment may be that of another PETSc. The SLEPc of --download-slepc lies beside PETSc
    args = petsc+' SLEPC_DIR= DESTDIR= PREFIX='+prefix
    self.include = [os.path.join(prefix,'include')]
    self.lib     = [os.path.join(prefix,'lib','libpetscaijtcu.'+self.setCompilers.sharedLibraryExt)]
    self.addPost(self.packageDir, ['${OMAKE} -j'+str(self.make.make_np)+' '+args+' install'])
    return self.installDir
