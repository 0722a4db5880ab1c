/*
   Dense matrices of a network: a row for each node of the graph, on the process that owns it
*/
#pragma once

#include <petscmat.h>
#include "entries.h"

typedef struct {
  MPI_Comm  comm;
  VecType   vtype;  /* says where dense matrices and vectors are */
  PetscInt  n, N;   /* nodes here and in all */
  PetscInt  first;  /* nodes of processes before */
  void     *stream; /* of a device, where that has the arrays */
  PetscBool device;
} Nodes;

/*
   A dense matrix whose array stays where it is while the matrix lives. Entries are changed through the array, on the
   stream that products are made on
*/
typedef struct {
  Mat      mat, local; /* local: the rows of this process, without a reference */
  PetscInt rows, cols; /* local rows */
  Real    *a;
} Block;

PETSC_INTERN PetscErrorCode NodesSetUp(Mat, Nodes *);
PETSC_INTERN PetscErrorCode BlockCreate(const Nodes *, PetscInt copies, PetscInt cols, Real *, Block *);
PETSC_INTERN PetscErrorCode BlockCreateLocal(const Nodes *, PetscInt rows, PetscInt cols, Real *, Block *);
PETSC_INTERN PetscErrorCode BlockOnes(const Nodes *, PetscInt copies, Block *);
PETSC_INTERN PetscErrorCode BlockSet(const Block *, const Real[]);
PETSC_INTERN PetscErrorCode BlockDestroy(Block *);

/*
   Memory where dense matrices are, for so many bytes, as a vector of this process. It stays where it is. It begins with
   zeros, or with what lies on the host
*/
PETSC_INTERN PetscErrorCode ListCreate(const Nodes *, size_t, const void *from, Vec *, void *array);
/* After changes by VecGetArray() */
PETSC_INTERN PetscErrorCode ListBack(Vec);

/* A product into C that is set up once, and made by ProductRun() */
PETSC_INTERN PetscErrorCode ProductCreate(Mat A, Mat B, MatProductType, Mat C);
PETSC_INTERN PetscErrorCode ProductRun(Mat C);

/* EntriesRun(Adam, nodes, arguments, n) */
#if PetscDefined(HAVE_CUDA)
PETSC_INTERN PetscErrorCode EntriesCheck(int);
  #define EntriesRun(op, nodes, args, n)                                                    \
    do {                                                                                    \
      if ((nodes)->device) PetscCall(EntriesCheck(op##OnDevice(args, n, (nodes)->stream))); \
      else op##OnHost(args, n);                                                             \
    } while (0)
#else
  #define EntriesRun(op, nodes, args, n) op##OnHost(args, n)
#endif
