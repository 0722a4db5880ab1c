/*
   The devices whose times are known, and which of them is nearest to another. A new one is a file beside h200.h and a
   line in the list.
*/
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "h200.h"
#include "h100.h"

static const SpmmModel *const models[] = {&h200, &h100};

/* From 0, of the same, to 1, of numbers that have nothing to do with each other; 0 where one is not known */
static double Apart(double x, double y)
{
  return x > 0 && y > 0 ? fabs(x - y) / (x + y) : 0;
}

const SpmmModel *SpmmNearestModel(const char name[], int32_t cc, int32_t nsm, double bandwidth)
{
  const SpmmModel *nearest = NULL;
  double           least   = 0;

  for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
    const SpmmModel *m = models[i];
    /*
       ten of compute capability are a generation; another name counts for less than one step of it, and more than all
       else
    */
    const double apart = 4.0 * abs(m->cc - cc) + (strstr(name, m->device) ? 0 : 2) + Apart(m->nsm, nsm) + Apart(m->bandwidth, bandwidth);

    if (!nearest || apart < least) {
      nearest = m;
      least   = apart;
    }
  }
  return nearest;
}
