#include "variant.h"

/* Entries of the largest dense matrix: that of 16384 rows */
#define MOST_DENSE ((PetscInt64)1 << 28)

static const Variant variants[] = {
  {.name = "parent", .path = MAT_AIJTCU_PATH_CUSPARSE},
  {.name = "rows", .path = MAT_AIJTCU_PATH_CUSPARSE, .rows = PETSC_TRUE},
  {.name = "dense", .path = MAT_AIJTCU_PATH_CUSPARSE, .dense = PETSC_TRUE},
  {.name = "auto", .ours = PETSC_TRUE},
  {.name = "apart", .ours = PETSC_TRUE, .apart = PETSC_TRUE},
  {.name = "csr", .ours = PETSC_TRUE, .path = MAT_AIJTCU_PATH_CSR},
  {.name = "tcu", .ours = PETSC_TRUE, .path = MAT_AIJTCU_PATH_TCU},
  {.name = "tcu8", .ours = PETSC_TRUE, .path = MAT_AIJTCU_PATH_TCU, .brick_rows = 8},
  {.name = "tcu16", .ours = PETSC_TRUE, .path = MAT_AIJTCU_PATH_TCU, .brick_rows = 16},
  {.name = "reorder", .ours = PETSC_TRUE, .path = MAT_AIJTCU_PATH_TCU, .reorder = MAT_AIJTCU_REORDER_ALWAYS},
  {.name = "tf32", .ours = PETSC_TRUE, .precision = MAT_AIJTCU_PRECISION_TF32},
  {.name = "tune", .ours = PETSC_TRUE, .tune = MAT_AIJTCU_TUNE_PROXY}};

/* Bricks in the format that a name like 16-128-64-4 has, or NULL. The formats that were named stay */
static const Variant *FormatFind(const char name[])
{
  static Variant format[16];
  static char    named[PETSC_STATIC_ARRAY_LENGTH(format)][32];
  int            number[4], end = -1;
  size_t         k = 0;

  if (sscanf(name, "%d-%d-%d-%d%n", &number[0], &number[1], &number[2], &number[3], &end) < 4 || name[end] || end >= (int)sizeof(named[0])) return NULL;
  while (k < PETSC_STATIC_ARRAY_LENGTH(format) && format[k].name && strcmp(format[k].name, name)) k++;
  if (k == PETSC_STATIC_ARRAY_LENGTH(format)) return NULL;
  format[k] = (Variant){.name = strcpy(named[k], name), .ours = PETSC_TRUE, .path = MAT_AIJTCU_PATH_TCU, .format = {number[0], number[1], number[2], number[3]}};
  return &format[k];
}

PetscErrorCode VariantFind(const char name[], const Variant **variant)
{
  PetscFunctionBegin;
  if ((*variant = FormatFind(name))) PetscFunctionReturn(PETSC_SUCCESS);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(variants); k++) {
    PetscBool same;

    PetscCall(PetscStrcmp(name, variants[k].name, &same));
    if (!same) continue;
    *variant = &variants[k];
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-variants %s: must be auto, csr, tcu, tcu8, tcu16, reorder, tune, tf32, dense, rows, apart, or a format of bricks, four numbers such as 16-128-64-4", name);
}

/* Whether a variant is one for this matrix: a dense matrix must have room */
PetscBool VariantSuits(const Variant *variant, const GenerateCSR *csr)
{
  return (PetscBool)(!variant->dense || (PetscInt64)csr->m * csr->n <= MOST_DENSE);
}

/*
   A matrix over the arrays of csr, which all variants share. The arrays exist once on the host, and must outlive the
   matrix.
*/
PetscErrorCode VariantCreateMat(const Variant *variant, const GenerateCSR *csr, MatType parent, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, csr->m, csr->n, csr->i, csr->j, csr->a, A));
  if (variant->dense) {
    PetscBool device;

    PetscCall(PetscStrcmp(parent, MATSEQAIJCUSPARSE, &device));
    PetscCall(MatConvert(*A, MATSEQDENSE, MAT_INPLACE_MATRIX, A));
    if (device) PetscCall(MatConvert(*A, MATSEQDENSECUDA, MAT_INPLACE_MATRIX, A));
  } else PetscCall(MatConvert(*A, variant->ours ? MATAIJTCU : parent, MAT_INPLACE_MATRIX, A));
  if (variant->ours) PetscCall(MatSetFromOptions(*A)); /* after the format */
  PetscCall(MatAIJTCUSetPath(*A, variant->path));
  PetscCall(MatAIJTCUSetPrecision(*A, variant->precision));
  PetscCall(MatAIJTCUSetReorder(*A, variant->reorder));
  PetscCall(MatAIJTCUSetTune(*A, variant->tune));
  if (variant->format.brick_rows) PetscCall(MatAIJTCUSetFormat(*A, &variant->format));
  if (variant->brick_rows) { /* the other numbers come from the options, or from the host's format */
    MatAIJTCUFormat format;

    PetscCall(MatAIJTCUGetFormat(*A, &format));
    if (!format.brick_rows) format = (MatAIJTCUFormat){8, 64, 32, 1};
    format.brick_rows = variant->brick_rows;
    format.panel_rows = (format.panel_rows + format.brick_rows - 1) / format.brick_rows * format.brick_rows;
    PetscCall(MatAIJTCUSetFormat(*A, &format));
  }
  /* Move the values there and back: the matrix is on the device then, and no product pays for the copy */
  for (int k = 0; k < 2; k++) PetscCall(MatScale(*A, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
