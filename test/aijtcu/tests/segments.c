static char help[] = "Tests which segments of a matrix stand for all: HrpbChooseSegments(). Prints on error only.\n\n";

#include <petscsys.h>
#include <proxy/proxy.h>

enum {
  MOST = 5000
};

static HrpbFeatures features[MOST];
static int32_t      chosen[MOST];

static PetscErrorCode Report(PetscBool ok, const char what[])
{
  PetscFunctionBegin;
  if (!ok) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s\n", what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Segments of several kinds that differ in all features. Each differs a little from others of its kind. A kind is a
   base value.
*/
static HrpbFeatures Segment(PetscInt kind, PetscInt i)
{
  const int64_t base = (int64_t[]){20000, 50000, 90000, 400000}[kind], other = i * 7919 % 101;

  return (HrpbFeatures){1000 * i, base + other, base / 1000, base / 40 + other, base / 50 - other, base / 2};
}

/* Check that the choice has the right number, ascends, and is the same again */
static PetscErrorCode Choose(int32_t n, int32_t nchosen, const char what[])
{
  static int32_t again[MOST];
  PetscBool      ok = PETSC_TRUE, same;

  PetscFunctionBegin;
  PetscCheck(!HrpbChooseSegments(n, features, nchosen, chosen) && !HrpbChooseSegments(n, features, nchosen, again), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s is refused", what);
  for (int32_t k = 0; k < nchosen; k++) {
    if (chosen[k] < 0 || chosen[k] >= n || (k && chosen[k] <= chosen[k - 1])) ok = PETSC_FALSE;
  }
  PetscCall(Report(ok, what));
  PetscCall(PetscMemcmp(chosen, again, sizeof(*chosen) * (size_t)nchosen, &same));
  PetscCall(Report(same, "others the second time"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The segments are a half, three eighths and an eighth of three kinds, mixed. The chosen ones must be so, too */
static PetscErrorCode TestShares(int32_t n, int32_t nchosen)
{
  const PetscInt kinds[8] = {0, 1, 0, 1, 2, 0, 1, 0};
  PetscInt       count[3] = {0, 0, 0};

  PetscFunctionBegin;
  for (int32_t i = 0; i < n; i++) features[i] = Segment(kinds[i % 8], i);
  PetscCall(Choose(n, nchosen, "of three kinds"));
  for (int32_t k = 0; k < nchosen; k++) count[kinds[chosen[k] % 8]]++;
  /* a kind may fall into several clusters, whose shares are rounded one by one */
  PetscCall(Report((PetscBool)(PetscAbsInt(8 * count[0] - 4 * nchosen) <= 8 && PetscAbsInt(8 * count[1] - 3 * nchosen) <= 8 && PetscAbsInt(8 * count[2] - nchosen) <= 8), "not in proportion"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Segments of few that are very different stand for themselves alone */
static PetscErrorCode TestOutliers(void)
{
  PetscFunctionBegin;
  for (int32_t i = 0; i < 400; i++) features[i] = Segment(i == 17 || i == 230 ? 3 : i % 2, i);
  PetscCall(Choose(400, 12, "with outliers"));
  for (int32_t k = 0; k < 12; k++) PetscCall(Report((PetscBool)(chosen[k] != 17 && chosen[k] != 230), "an outlier stands for others"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From each cluster the middle one: eight parts of a ramp */
static PetscErrorCode TestMiddle(void)
{
  PetscFunctionBegin;
  for (int32_t i = 0; i < 801; i++) features[i] = (HrpbFeatures){0, 1000 + i, 10, 500, 400, 300};
  PetscCall(Choose(801, 8, "of a ramp"));
  for (int32_t k = 0; k < 8; k++) PetscCall(Report((PetscBool)(PetscAbsInt(chosen[k] - (50 + 100 * k)) <= 10), "not in the middle of its part of a ramp"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestShares(96, 12));
  PetscCall(TestShares(24, 12));
  PetscCall(TestShares(MOST, 12));
  PetscCall(TestOutliers());
  PetscCall(TestMiddle());
  for (int32_t i = 0; i < 30; i++) features[i] = Segment(0, 0);
  PetscCall(Choose(30, 12, "of segments that are all the same"));
  PetscCall(Choose(30, 30, "all"));
  PetscCall(Choose(1, 1, "the only one"));
  PetscCall(Report((PetscBool)(HrpbChooseSegments(3, features, 4, chosen) == HRPB_ERR_PARAMETER && HrpbChooseSegments(3, features, 0, chosen) == HRPB_ERR_PARAMETER), "more than there are, or none, are not refused"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    output_file: output/empty.out

TEST*/
