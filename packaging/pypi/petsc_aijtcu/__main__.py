"""Print the options with which a program of PETSc uses the type, as a line for a shell."""
from . import get_config

print("export PETSC_OPTIONS='-dll_append %s -mat_type aijtcu'" % get_config()['LIBRARY'])
