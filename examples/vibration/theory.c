#include "beam.h"

/* Torsion constant of a rectangle (Saint-Venant's series) */
static PetscReal TorsionConstant(PetscReal p, PetscReal q)
{
  PetscReal a = PetscMax(p, q), b = PetscMin(p, q), sum = 0;

  for (PetscInt n = 1; n < 40; n += 2) sum += PetscTanhReal(n * PETSC_PI * a / (2 * b)) / PetscPowReal(n, 5);
  return a * b * b * b / 3 * (1 - 192 * b / (PetscPowReal(PETSC_PI, 5) * a) * sum);
}

/*
   Frequency equation of a clamped Euler-Bernoulli beam, divided by cosh(x). Its roots are x = L sqrt(omega) (rho A/(E
   I))^(1/4).
*/
static double EulerEquation(double x)
{
  return cos(x) + 1 / cosh(x);
}

/*
   Frequency equation of a clamped Timoshenko beam (T. C. Huang, J. Appl. Mech. 28, 1961), divided by cosh(b alpha).
   b^2 is omega^2 in units of E I/(rho A L^4), r2 = I/(A L^2), s2 = E I/(kappa A G L^2). Past the cut-off b^2 r2 s2 = 1
   another equation holds, and *valid is false.
*/
static double TimoshenkoEquation(double b, double r2, double s2, PetscBool *valid)
{
  double root = sqrt((r2 - s2) * (r2 - s2) + 4 / (b * b)), alpha = sqrt((root - r2 - s2) / 2), beta = sqrt((root + r2 + s2) / 2);

  *valid = (PetscBool)(b * b * r2 * s2 < 1);
  if (!*valid) return 0;
  return 2 / cosh(b * alpha) + (b * b * (r2 - s2) * (r2 - s2) + 2) * cos(b * beta) - b * (r2 + s2) / sqrt(1 - b * b * r2 * s2) * tanh(b * alpha) * sin(b * beta);
}

/*
   Frequency parameter b of the n-th bending mode. Without shear (r2 = s2 = 0) it is (x_n)^2. Otherwise it is the
   Timoshenko root below that, or 0 where there is none.
*/
static double BendingRoot(PetscInt n, double r2, double s2)
{
  double    low = (n - 0.5) * PETSC_PI - 0.4, high = low + 0.8, step, before, b;
  PetscBool shear = (PetscBool)(s2 > 0), valid = PETSC_TRUE;

  if (!shear) {
    for (PetscInt it = 0; it < 60; it++) {
      double middle = (low + high) / 2;

      if (EulerEquation(low) * EulerEquation(middle) <= 0) high = middle;
      else low = middle;
    }
    return low * low;
  }
  step   = BendingRoot(1, 0, 0) / 50; /* far below the distance of two roots */
  before = TimoshenkoEquation(step, r2, s2, &valid);
  for (b = 2 * step; n && valid; b += step) {
    double now = TimoshenkoEquation(b, r2, s2, &valid);

    if (now * before <= 0) n--;
    before = now;
    if (!n) break;
  }
  if (!valid) return 0;
  low  = b - step;
  high = b;
  for (PetscInt it = 0; it < 60; it++) {
    double middle = (low + high) / 2;

    if (TimoshenkoEquation(low, r2, s2, &valid) * TimoshenkoEquation(middle, r2, s2, &valid) <= 0) high = middle;
    else low = middle;
  }
  return low;
}

/*
   The prediction of beam theory for mode n = 1, 2, ... of a motion, in Hz. slender: Euler-Bernoulli (bending),
   Saint-Venant (torsion), bar (axial). shear: Timoshenko, with Cowper's shear coefficient of a rectangle. 0 where the
   theory predicts nothing.
*/
void BeamTheory(const Beam *b, BeamMotion motion, PetscInt n, PetscReal *slender, PetscReal *shear)
{
  const PetscReal area = b->ly * b->lz, Iy = b->lz * PetscPowReal(b->ly, 3) / 12, Iz = b->ly * PetscPowReal(b->lz, 3) / 12;
  const PetscReal G = b->young / (2 * (1 + b->poisson)), kappa = 10 * (1 + b->poisson) / (12 + 11 * b->poisson);
  const PetscReal quarter = (2 * n - 1) / (4 * b->lx), inertia = motion == BEAM_BENDING_Y ? Iy : Iz;
  double          r2, hertz;

  *slender = *shear = 0;
  switch (motion) {
  case BEAM_BENDING_Y:
  case BEAM_BENDING_Z:
    r2       = inertia / (area * b->lx * b->lx);
    hertz    = PetscSqrtReal(b->young / b->density * inertia / area) / (b->lx * b->lx) / (2 * PETSC_PI);
    *slender = (PetscReal)(BendingRoot(n, 0, 0) * hertz);
    *shear   = (PetscReal)(BendingRoot(n, r2, r2 * b->young / (kappa * G)) * hertz);
    break;
  case BEAM_TORSION:
    *slender = quarter * PetscSqrtReal(G / b->density * (TorsionConstant(b->ly, b->lz) / (Iy + Iz)));
    break;
  case BEAM_AXIAL:
    *slender = quarter * PetscSqrtReal(b->young / b->density);
    break;
  case BEAM_OTHER:
    break;
  }
}

/*
   The displacement of the free end, in m, under a force in N at a distance from the clamped end. In torsion the load is
   a moment in N m, and the displacement that of a corner of the section. slender and shear are as in BeamTheory().
*/
void BeamDeflection(const Beam *b, BeamMotion motion, PetscReal load, PetscReal distance, PetscReal *slender, PetscReal *shear)
{
  const PetscReal area = b->ly * b->lz, Iy = b->lz * PetscPowReal(b->ly, 3) / 12, Iz = b->ly * PetscPowReal(b->lz, 3) / 12;
  const PetscReal G = b->young / (2 * (1 + b->poisson)), kappa = 10 * (1 + b->poisson) / (12 + 11 * b->poisson);

  *slender = *shear = 0;
  switch (motion) {
  case BEAM_BENDING_Y:
  case BEAM_BENDING_Z:
    *slender = load * PetscSqr(distance) * (3 * b->lx - distance) / (6 * b->young * (motion == BEAM_BENDING_Y ? Iy : Iz));
    *shear   = *slender + load * distance / (kappa * G * area);
    break;
  case BEAM_TORSION:
    *slender = load * distance / (G * TorsionConstant(b->ly, b->lz)) * PetscSqrtReal(PetscSqr(b->ly) + PetscSqr(b->lz)) / 2;
    break;
  case BEAM_AXIAL:
    *slender = load * distance / (b->young * area);
    break;
  case BEAM_OTHER:
    break;
  }
}
