#include "train.h"
#include "machine.h"

static uint64_t SeedOf(uint64_t seed, PetscInt epoch)
{
  return (seed << 32) + (uint64_t)epoch * UINT64_C(0x5851f42d4c957f2d);
}

static PetscErrorCode Epoch(Network *w, const NetworkOptions *o, uint64_t seed, Scored *s)
{
  const Pass train = {PETSC_TRUE, seed}, test = {PETSC_FALSE, 0};

  PetscFunctionBegin;
  PetscCall(NetworkForward(w, &train));
  PetscCall(NetworkLoss(w, PETSC_TRUE));
  PetscCall(NetworkBackward(w, &train));
  PetscCall(ParamsStep(&w->params, o->rate));
  PetscCall(NetworkForward(w, &test));
  PetscCall(NetworkLoss(w, PETSC_FALSE));
  PetscCall(NetworkScores(w, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   With a patience, training ends when as many epochs made neither loss nor accuracy of the validation set better, and
   the weights are those where both were best, as GAT has it. Without, it ends after all epochs
*/
PetscErrorCode TrainRun(Network *w, const NetworkOptions *o, uint64_t seed, PetscInt every, Training *t)
{
  PetscReal      loss = PETSC_MAX_REAL, accuracy = 0;
  PetscInt       since = 0;
  PetscLogDouble first, begin, end;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(t, sizeof(*t)));
  PetscCall(PetscCalloc1(o->epochs, &t->history));
  PetscCall(ParamsStart(&w->params, SeedOf(seed, -1)));
  PetscCall(ExampleTime(w->P, &first));
  begin = first;
  for (t->epochs = 0; t->epochs < o->epochs;) {
    Scored    s;
    PetscBool less, more;

    PetscCall(Epoch(w, o, SeedOf(seed, t->epochs), &s));
    t->history[t->epochs++] = s;
    if (t->epochs == 1) PetscCall(ExampleTime(w->P, &begin));
    less = (PetscBool)(s.loss[SPLIT_VAL] <= loss);
    more = (PetscBool)(s.accuracy[SPLIT_VAL] >= accuracy);
    if (!o->patience || (less && more)) {
      t->best   = t->epochs;
      t->scored = s;
      if (o->patience) PetscCall(ParamsKeep(&w->params));
    }
    since    = less || more ? 0 : since + 1;
    loss     = PetscMin(loss, s.loss[SPLIT_VAL]);
    accuracy = PetscMax(accuracy, s.accuracy[SPLIT_VAL]);
    if (every && (t->epochs % every == 0 || t->epochs == 1))
      PetscCall(PetscPrintf(w->nodes.comm, "  epoch %4" PetscInt_FMT "  loss %.4f, validation %.4f  accuracy %.1f %%, validation %.1f %%\n", t->epochs, (double)s.loss[SPLIT_TRAIN], (double)s.loss[SPLIT_VAL], 100 * (double)s.accuracy[SPLIT_TRAIN], 100 * (double)s.accuracy[SPLIT_VAL]));
    if (o->patience && since == o->patience) break;
  }
  PetscCall(ExampleTime(w->P, &end));
  t->start   = (PetscReal)(begin - first);
  t->seconds = (PetscReal)(end - begin) / (PetscReal)PetscMax(t->epochs - 1, 1);
  if (o->patience) PetscCall(ParamsBack(&w->params));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TrainDestroy(Training *t)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(t->history));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LossAlong(Network *w, const Pass *pass, Vec start, Vec direction, PetscReal step, PetscReal *loss)
{
  Scored s;

  PetscFunctionBegin;
  PetscCall(VecWAXPY(w->params.list[PARAMS_W], step, direction, start));
  PetscCall(NetworkForward(w, pass));
  PetscCall(NetworkLoss(w, PETSC_FALSE));
  PetscCall(NetworkScores(w, &s));
  *loss = s.loss[SPLIT_TRAIN];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The derivative of the loss in a random direction of each parameter, with dropout, beside central differences */
PetscErrorCode TrainCheckGradient(Network *w, uint64_t seed, PetscInt *wrong)
{
  const Pass      pass = {PETSC_TRUE, seed};
  const PetscReal h    = 1e-6;
  Params         *p    = &w->params;
  Vec             start, direction, gradient;

  PetscFunctionBegin;
  PetscCall(ParamsStart(p, SeedOf(seed, -1)));
  PetscCall(VecDuplicate(p->list[PARAMS_W], &start));
  PetscCall(VecDuplicate(start, &direction));
  PetscCall(VecDuplicate(start, &gradient));
  PetscCall(VecCopy(p->list[PARAMS_W], start));
  PetscCall(NetworkForward(w, &pass));
  PetscCall(NetworkLoss(w, PETSC_TRUE));
  PetscCall(NetworkBackward(w, &pass));
  PetscCall(VecCopy(p->list[PARAMS_G], gradient));
  for (PetscInt k = 0; k < p->n; k++) {
    const Param *a = &p->param[k];
    PetscScalar *d, dot;
    PetscReal    plus, minus, difference;

    PetscCall(VecSet(direction, 0));
    PetscCall(VecGetArray(direction, &d));
    for (PetscInt i = a->first; i < a->first + a->rows * a->cols; i++) d[i] = (PetscReal)(2 * EntryRandom(seed + 1, (uint64_t)i) - 1);
    PetscCall(VecRestoreArray(direction, &d));
    PetscCall(VecDot(gradient, direction, &dot));
    PetscCall(LossAlong(w, &pass, start, direction, h, &plus));
    PetscCall(LossAlong(w, &pass, start, direction, -h, &minus));
    difference = (plus - minus) / (2 * h);
    PetscCall(PetscInfo(w->P, "gradient of %s: %g, by differences %g\n", a->name, (double)PetscRealPart(dot), (double)difference));
    if (!(PetscAbsReal(PetscRealPart(dot) - difference) <= (PetscReal)1e-5 * PetscAbsReal(difference) + (PetscReal)1e-9)) {
      ++*wrong;
      PetscCall(PetscPrintf(w->nodes.comm, "gradient of %s (parameter %" PetscInt_FMT "): %.10g, but by differences %.10g\n", a->name, k, (double)PetscRealPart(dot), (double)difference));
    }
  }
  PetscCall(VecDestroy(&start));
  PetscCall(VecDestroy(&direction));
  PetscCall(VecDestroy(&gradient));
  PetscFunctionReturn(PETSC_SUCCESS);
}
