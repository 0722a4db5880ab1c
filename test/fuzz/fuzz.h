/*
   What the fuzzers share: random numbers, the loop over inputs, and the message when an input fails.

   An input is made from the seed and its number only, so each can be made again by itself.
*/
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint64_t state;
} Random;

uint64_t RandomBits(Random *);
int64_t  RandomBelow(Random *, int64_t n); /* 0 to n - 1 */
bool     RandomOneIn(Random *, int64_t n);

/* Print the reason and the input's number, and end the program */
void FuzzFail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
#define FuzzCheck(condition, ...)            \
  do {                                       \
    if (!(condition)) FuzzFail(__VA_ARGS__); \
  } while (0)

/*
   Options: -runs, -seed, -first (number of the first input), -progress (seconds between two lines; 0 for none).

   name  of the fuzzer
   one   makes an input and tries it
   any   whether a condition holds on any process; NULL where there is one process
   quiet whether another process prints

   An input that leaves more memory allocated than before is tried again, several times. Memory that is set up once for
   all does not come again. A leak does, on the same process.
*/
int FuzzRun(int argc, char **argv, const char *name, void (*one)(Random *), bool (*any)(bool), bool quiet);
