/*
   In a library of complex scalars every matrix that is surveyed is a real one with twice the rows and columns: an entry
   of the complex matrix is two in each of two rows (real.h). So a row of B meets two entries where one would do.
*/
#pragma once

enum {
#if defined(HRPB_USE_COMPLEX)
  REAL_ENTRIES = 2,
#else
  REAL_ENTRIES = 1,
#endif
/* Whether formats of bricks are those that were timed with complex numbers, which is so in double */
#if defined(HRPB_USE_COMPLEX) && !defined(HRPB_USE_SINGLE)
  COMPLEX_FORMATS = 1
#else
  COMPLEX_FORMATS = 0
#endif
};
