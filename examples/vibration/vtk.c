#include "modes.h"

/* Write three floats in the byte order of a VTK file, which is big endian */
static void PutVector(FILE *fp, const float v[3])
{
  unsigned char bytes[12];

  for (int c = 0; c < 3; c++) {
    uint32_t word;

    memcpy(&word, &v[c], sizeof(word));
    for (int b = 0; b < 4; b++) bytes[4 * c + b] = (unsigned char)(word >> (24 - 8 * b));
  }
  (void)fwrite(bytes, 1, sizeof(bytes), fp);
}

/*
   All modes in one legacy binary VTK file: the mesh, and each mode as a vector field named after its value ("Warp
   By Vector" in ParaView). Call on rank 0.
*/
PetscErrorCode ModesWriteVTK(const Modes *m, const char file[])
{
  const Beam *b  = m->beam;
  FILE       *fp = fopen(file, "wb");

  PetscFunctionBegin;
  PetscCheck(fp, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", file);
  fprintf(fp, "# vtk DataFile Version 3.0\n%ss of a clamped beam\nBINARY\nDATASET STRUCTURED_GRID\nDIMENSIONS %d %d %d\nPOINTS %d float\n", m->name, (int)b->nx + 1, (int)b->ny + 1, (int)b->nz + 1, (int)ModesNodes(m));
  for (PetscInt k = 0; k <= b->nz; k++) {
    for (PetscInt j = 0; j <= b->ny; j++) {
      for (PetscInt i = 0; i <= b->nx; i++) PutVector(fp, (const float[]){(float)(b->lx * i / b->nx), (float)(b->ly * j / b->ny), (float)(b->lz * k / b->nz)});
    }
  }
  fprintf(fp, "\nPOINT_DATA %d\n", (int)ModesNodes(m));
  for (PetscInt mode = 0; mode < m->count; mode++) {
    fprintf(fp, "VECTORS %s_%02d_%.4g_%s float\n", m->name, (int)mode + 1, (double)m->value[mode], m->unit);
    for (PetscInt k = 0; k <= b->nz; k++) {
      for (PetscInt j = 0; j <= b->ny; j++) {
        for (PetscInt i = 0; i <= b->nx; i++) PutVector(fp, ModesAt(m, mode, i, j, k));
      }
    }
    fprintf(fp, "\n");
  }
  PetscCheck(!ferror(fp), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write all of %s: is the disk full?", file);
  PetscCheck(!fclose(fp), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write all of %s: is the disk full?", file);
  PetscFunctionReturn(PETSC_SUCCESS);
}
