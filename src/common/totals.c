/*
   What happened to all matrices of the program on this process. Matrices come and go, and -mat_aijtcu_view_choice tells
   of them at the end.
*/
#include "common.h"

AIJTCUTotals AIJTCUAll;
