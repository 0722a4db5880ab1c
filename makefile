# petsc-aijtcu: sparse matrix times block of dense vectors on tensor cores, as a PETSc matrix type. `make help` says
# what there is.

.DEFAULT_GOAL := all
MAKEFLAGS     += --no-builtin-rules $(if $(filter 0,$(MAKELEVEL)),-j$(shell env -u OMP_NUM_THREADS nproc))

define HELP
make              build the library (1 to 3 minutes on two cores, after that what changed)
make programs     build all programs of examples: build/<name>/bin
make example      solve an eigenproblem (examples/vibration) with the type aijtcu, and draw its first modes
make test         run all tests (6 minutes on two cores)
make test-headers compile against the headers of other PETScs: complex, in both precisions, 64-bit indices, single, without a GPU, 3.24, 3.25 (1 to 3 minutes)
make test-matrix  build those PETScs, and one with debug checks, and run all tests with each (8 to 25 minutes for each that is not built yet)
make test-architectures  compile the kernels for other GPUs than the one here: ARCHITECTURES='80 86 89 90 100 120', PRECISIONS='double single'
                  (5 minutes on two cores)
make test-emulated  run the kernels for a GPU on this machine's processor, where threads of a GPU take turns (10 minutes on two cores, 15 in single precision)
make test-petsc   run PETSc's own tests of aijcusparse with our type in its place (minutes; for a GPU)
make test-slepc   run SLEPc's own tests of aijcusparse with our type in its place (minutes; for a GPU)
make test-packaging  try the channels of packaging/ that take minutes; the first, petsc, builds a PETSc: 10 minutes on two cores
make fuzz         try the reader and the host's kernels with RUNS=1000000 random inputs each, from SEED=1, under ASan and UBSan
make bench        time products of many matrices with all variants beside aijcusparse (for a GPU); table, report and pictures in build/bench
make bench-solve  time block solves with aijcusparse and aijtcu beside each other (for a GPU); table in build/bench
make bench-programs  time five programs from their start to their end with both types, part by part (for a GPU); table in build/bench
make bench-eigen  time LOBPCG with aijcusparse, and with aijtcu with and without whole blocks, steady and once in a process (for a GPU); table in build/bench
make bench-parallel  time parallel products, LOBPCG and block cg on RANKS='1 2' processes, and print a model for up to 64; tables in build/bench
make fit          fit the model of times of a device to its benchmark: writes kernels/model/MODEL.h from the tables CSV
make bundle       pack what runs tests and benchmarks on another machine with the same CUDA as one tar.xz
make dist         pack the tracked files as build/dist/petsc-aijtcu-VERSION.tar.gz; write the recipes for it, and a source distribution for PyPI, beside it
make abi          say what of the public interface went or changed since the commit OLD, or between OLD and NEW
make docs         write the manual pages as man pages and HTML to build/docs
make install      install library, header, man pages, module file, and files for pkg-config and CMake, under PREFIX (/usr/local),
                  in DESTDIR if that is set; and print the options that make a program use it
make uninstall    delete what make install has put there
make env          print the shell lines that make programs of PETSc use the type, with CUDA or without: eval "$$(make -s env)" sets
                  PETSC_DIR, PETSC_ARCH, SLEPC_DIR, and PETSC_OPTIONS, which keeps what it has
make clean        delete build/ (not the PETSc that was built, which is in PETSCAIJTCU_CACHE)
make clean-cache  delete that, too: 0.4 GB, and 0.15 GB more for each other SCALAR, DEBUG, INDEX or CUDA_ARCH it was built for
make help         this text

PETSC_DIR, PETSC_ARCH, SLEPC_DIR   installed PETSc and SLEPc (3.24 to 3.26) to use; without PETSC_DIR they are built once,
                                   in 6 to 25 minutes on two cores
PETSC_DIR=pkg-config               use those that pkg-config knows; it looks in PKG_CONFIG_PATH, too
PETSC_VERSION=3.24|3.25|3.26       the release that is built (3.26)
SCALAR=double|single|complex|complex-single  precision, and whether scalars are complex (double)
DEBUG=1                            with PETSc's debug checks
INDEX=32|64                        bits of PetscInt (32)
CUDA_ARCH=90                       compute capability to build for, none to build without CUDA (that of the GPU here, else 90)
PETSCAIJTCU_CACHE=folder           where PETSc and SLEPc are built (~/.cache/petsc-aijtcu)
PREFIX=/usr/local DESTDIR=         make install, make uninstall: where to; DESTDIR is put before it, for packages
INSTALL=yes|no                     whether make as root installs missing system packages where it builds PETSc (yes)
NP=1                               make example: number of processes
EXAMPLE_ARGS='-eps_nev 4 ...'      make example: further options of examples/vibration
MODEL=h100 CSV='one.csv ...'      make fit: name of the model, and tables of make bench; see examples/bench/fit --help
BENCH_ARGS='-families rmat ...'    make bench, make bench-solve, make bench-programs: options of examples/bench, examples/solve or
                                   examples/programs/programs, see their help
RANKS='1 2' MODEL_ARGS=...         make bench-parallel: numbers of processes; options of examples/parallel/model, see its --help
TESTS='*vibration* docs'           make test: only the tests whose names match one of these shell patterns, those of the first pattern first;
                                   it is an error if none match
STARTER=no                         make test, make test-petsc, make test-slepc: each run of a test's program loads its libraries itself (test/starter)
PARTS='petsc pip deb container'    make test-packaging: which (petsc pip deb)
OLD=commit NEW=commit              make abi: two commits, or copies of petscaijtcu.h (NEW: the one here)
RUNS=1000000 SEED=1                make fuzz: number of inputs, and which
V=1                                show whole command lines
endef

.PHONY: all programs example bench bench-solve bench-eigen bench-programs bench-parallel test fuzz test-headers test-matrix test-architectures test-emulated test-petsc test-slepc test-packaging fit bundle dist abi docs install uninstall env clean clean-cache help FORCE
help:
	@: $(info $(HELP))
clean:
	rm -rf build
clean-cache:
	@PETSCAIJTCU_CACHE='$(PETSCAIJTCU_CACHE)' src/config/clean-cache

# More of it: examples/bench/fit --help
fit:
	@$(if $(and $(MODEL),$(CSV)),examples/bench/fit --model '$(MODEL)' $(CSV),echo "make fit needs MODEL=name and CSV='files', such as make fit MODEL=h100 CSV=build/bench/bench-double-cuda90.csv" >&2; exit 1)

ifneq ($(filter-out clean clean-cache fit help,$(or $(MAKECMDGOALS),all)),)

ifneq ($(words $(CURDIR)),1)
$(error the folder '$(CURDIR)' has a space in its name, with which make and PETSc cannot build: move this clone to a folder without one)
endif

# What the user asked for about PETSc. It is kept here, because config.mk sets the same names to what was found
ASKED := PETSC_DIR='$(PETSC_DIR)' PETSC_ARCH='$(PETSC_ARCH)' SLEPC_DIR='$(SLEPC_DIR)' PETSC_VERSION='$(PETSC_VERSION)' SCALAR='$(SCALAR)' DEBUG='$(DEBUG)' INDEX='$(INDEX)' \
         CUDA_ARCH='$(CUDA_ARCH)' PETSCAIJTCU_CACHE='$(PETSCAIJTCU_CACHE)' INSTALL='$(INSTALL)' PKG_CONFIG_PATH='$(PKG_CONFIG_PATH)'
SETUP := $(ASKED) src/config/setup
NAME  := $(shell $(SETUP) name)
$(if $(NAME),,$(error the set-up failed, see above))
BUILD := $(CURDIR)/build/$(NAME)
# What is compiled for a GPU knows no PETSc, and complex scalars have the kernels of real ones: they share the objects.
# Arithmetic with blocks has complex numbers
CUDA_BUILD := $(if $(PETSC_DIR),$(BUILD),$(CURDIR)/build/$(subst complex,double,$(subst complex-single,single,$(NAME))))

# config.mk, and PETSc with it, is brought up to date before anything else. If it changed, make starts again
$(BUILD)/config.mk: FORCE
	@$(SETUP) config $@
include $(BUILD)/config.mk
include $(PETSC_VARIABLES)

VERSION     := $(shell sed -n 's/^\#define PETSCAIJTCU_VERSION_[A-Z]* *//p' include/petscaijtcu.h | paste -sd.)
LIBRARY     := $(BUILD)/lib/libpetscaijtcu.so
# Programs look for it under this name, with the version up to which the interface stays
SONAME      := libpetscaijtcu.so.$(basename $(VERSION))
# What it loads where a process has SLEPc
LIBEIGEN    := $(if $(SLEPC_LIB),$(BUILD)/lib/libpetscaijtcueps.so)
LIBRARIES   := $(LIBRARY) $(LIBEIGEN)
LIBHRPB     := $(BUILD)/lib/libhrpb.a
# Starts the programs of tests
STARTERS    := $(BUILD)/starter/starter $(BUILD)/starter/starter-server.so
LIBEXAMPLES := $(BUILD)/lib/libexamples.a

HOST_SRC    := $(wildcard kernels/*.c kernels/*/*.c)
DEVICE_SRC  := $(if $(CUDA),$(wildcard kernels/*/*.cu))
EIGEN_SRC   := $(wildcard src/eigen/*.c)
LIB_SRC     := $(filter-out $(EIGEN_SRC),$(wildcard src/*/*.c)) $(HOST_SRC) $(DEVICE_SRC)
# examples/<name>.c and examples/<name>/<name>.c are programs. Programs share the other sources there, except those of
# tests
PROGRAM_SRC := $(wildcard examples/*.c) $(foreach folder,$(wildcard examples/*),$(wildcard $(folder)/$(notdir $(folder)).c))
EXAMPLE_SRC := $(filter-out $(PROGRAM_SRC),$(shell grep -L '^/\*TEST' examples/*/*.c)) $(if $(CUDA),$(wildcard examples/*/*.cu))
# Programs that test kernels with plain arrays; they need a GPU to run
DEVICE_TEST_SRC := $(if $(CUDA),$(wildcard test/device/*.cu))
DEVICE_TESTS := $(patsubst test/device/%.cu,$(BUILD)/device/%,$(DEVICE_TEST_SRC))
# The fuzzers and the code under test are compiled again, with the compiler's sanitizers. Without working sanitizers
# the fuzzers are left out
SANITIZE    := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O1
ifneq ($(filter test fuzz test-emulated,$(MAKECMDGOALS)),)
SANITIZERS  := $(shell { try=$$(mktemp -p $(BUILD)) && echo 'int main(void) { return 0; }' | $(CC) $(SANITIZE) -x c - -o $$try && \
                 $$try && echo yes || rm -rf $(BUILD)/fuzz; rm -f $$try; } 2>/dev/null)
FUZZERS     := $(if $(SANITIZERS),$(BUILD)/fuzz/hrpb $(BUILD)/fuzz/mtx)
endif
# Kernels, and the programs that test them, as C++ for a host. They are compiled for Hopper, and for Ampere where the
# kernels differ: in how they copy, which double precision shows, and in the instructions of double precision
EMULATED    := $(BUILD)/emulated$(if $(SANITIZERS),,-plain)
EMULATED_SANITIZE := $(if $(SANITIZERS),-fsanitize=address -g1)
EMULATED_TEXT  := $(addprefix $(EMULATED)/,$(wildcard kernels/*.h kernels/*/*.h kernels/*/*.cuh test/device/*.cuh))
EMULATED_TESTS := $(patsubst test/device/%.cu,$(EMULATED)/900/%,$(wildcard test/device/*.cu)) $(if $(findstring SINGLE,$(HRPB_FLAGS)),,$(addprefix $(EMULATED)/800/,multiply csr sample))
# Arithmetic with blocks once more, with complex numbers
ifeq ($(findstring COMPLEX,$(HRPB_FLAGS)),)
EMULATED_COMPLEX := $(EMULATED)/900/block-complex
EMULATED_TESTS   += $(EMULATED_COMPLEX)
endif
sanitized    = $(patsubst %.c,$(BUILD)/sanitize/%.o,$(1))
PROGRAMS    := $(foreach source,$(PROGRAM_SRC),$(BUILD)/bin/$(basename $(notdir $(source))))
# Programs of PETSc that know nothing of us, from the sources that came with it
TUTORIALS   := $(addprefix $(BUILD)/tutorials/,ksp-ex45 ksp-ex56 snes-ex13 snes-ex56)

# Objects are build.o and build.cu.o, because build.c and build.cu lie side by side
COMPLEX_CUDA := kernels/block/%.cu test/device/block.cu
object = $(patsubst %.c,$(BUILD)/obj/%.o,$(filter %.c,$(1))) $(patsubst %,$(BUILD)/obj/%.o,$(filter $(COMPLEX_CUDA),$(1))) $(patsubst %.cu,$(CUDA_BUILD)/obj/%.cu.o,$(filter-out $(COMPLEX_CUDA) %.c,$(1)))
# Several makes may work in one tree at once. A command writes a file under a temporary name, and renames it when it is
# complete, so no other make reads half a file. $$$$ is the number of the shell's process
new    = $@.$$$$
whole  = { $(1) && mv $(new) $@ || { rm -f $(new); exit 1; }; }
# The same rule for an object, with the list of the headers that were read
DEPEND   = -MMD -MP -MT $@ -MF $(new).d
compiled = { $(1) $(DEPEND) -o $(new) && mv $(new).d $(@:.o=.d) && mv $(new) $@ || { rm -f $(new) $(new).d; exit 1; }; }
# Prints a short line for each command. It goes to stderr, because stdout is for make env
ifneq ($(V),1)
short = @printf '%9s %s\n' $(1) $(subst $(BUILD)/,,$@) >&2;
endif

# The last members of a struct may be left out where they are zero
WARNINGS        := -Wall -Wextra -Wno-missing-field-initializers
INCLUDE         := -I$(CURDIR)/include -I$(CURDIR)/kernels
EXAMPLE_INCLUDE := $(patsubst %,-I$(CURDIR)/%,$(sort $(dir $(EXAMPLE_SRC)))) $(SLEPC_INCLUDE)
EXAMPLE_LIBS    := -Wl,-rpath,$(BUILD)/lib $(SLEPC_LIB) $(PETSC_LIB) -lz
COMPILE_FLAGS    = $(PCC_FLAGS) $(CFLAGS) $(WARNINGS) $(INCLUDE) $(HRPB_FLAGS) $(CCPPFLAGS)
COMPILE          = $(CC) -c -fPIC -fvisibility=hidden $(COMPILE_FLAGS)
COMPILE_CUDA     = $(CUDAC) -c $(CUDAC_FLAGS) $(CUDAFLAGS) -Xcompiler -fPIC,-fvisibility=hidden,-Wall $(INCLUDE) $(HRPB_FLAGS)
COMPILE_NO_GPU   = $(CUDAC) -cubin $(shell sed 's/-gencode [^ ]*//g' <<<'$(CUDAC_FLAGS)') $(INCLUDE)
COMPILE_EMULATED = $(CXX) -c -x c++ -std=c++20 -O1 -fno-pie -ffp-contract=off -w $(EMULATED_SANITIZE) -include cuda_runtime.h -I$(CURDIR)/test/emulator $(addprefix -I$(EMULATED)/,kernels test/device) $(HRPB_FLAGS)
COMPILE_SANITIZED = $(CC) -c $(PCC_FLAGS) $(WARNINGS) $(SANITIZE) $(INCLUDE) $(EXAMPLE_INCLUDE) $(HRPB_FLAGS) $(CCPPFLAGS)
LINK             = $(CLINKER) -Wl,--as-needed
LINK_SANITIZED   = $(CC) $(SANITIZE) -Wl,--as-needed
LIBRARY_FLAGS    = -Wl,--no-undefined -Wl,-z,lazy -Wl,-soname,$(or $(soname),$(@F)) $(if $(RPATH),'-Wl$(comma)-rpath$(comma)$(RPATH)')
BESIDE           = -Wl,-rpath,'$$ORIGIN'
comma           := ,

# Objects are made anew when the command that makes them is another one, such as with another PETSc. The library and the
# kernels need no SLEPc, so another SLEPC_DIR leaves them as they are. A tree may move
command = $(if $(filter cuda,$(1)),$(CUDA_BUILD),$(BUILD))/$(1).command
COMMANDS := $(foreach kind,library eigen examples cuda sanitize emulated,$(call command,$(kind)))
$(call command,library):  commanded = $(COMPILE)
$(call command,eigen):    commanded = $(COMPILE)
$(call command,eigen):    private INCLUDE += $(SLEPC_INCLUDE)
$(call command,examples): commanded = $(COMPILE)
$(call command,examples): private INCLUDE += $(EXAMPLE_INCLUDE)
$(call command,cuda):     commanded = $(COMPILE_CUDA)
$(call command,sanitize): commanded = $(COMPILE_SANITIZED)
$(call command,emulated): commanded = $(COMPILE_EMULATED)
$(COMMANDS): FORCE
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(subst $(CURDIR),.,$(commanded)))' >$(new); if cmp -s $(new) $@; then rm $(new); else mv $(new) $@; fi

all: $(LIBRARIES)

$(LIBRARY): private soname = $(SONAME)
$(LIBRARY): $(call object,$(LIB_SRC))
	@mkdir -p $(@D)
	@ln -sf $(@F) $(@D)/$(SONAME)
	$(call short,LINK) $(call whole,$(LINK) -shared $(LIBRARY_FLAGS) -o $(new) $^ $(PETSC_LIB) -lpthread)

$(LIBEIGEN): $(call object,$(EIGEN_SRC)) $(LIBRARY)
	@mkdir -p $(@D)
	$(call short,LINK) $(call whole,$(LINK) -shared $(LIBRARY_FLAGS) $(BESIDE) -o $(new) $^ $(SLEPC_LIB) $(PETSC_LIB))

$(LIBHRPB): $(call object,$(HOST_SRC))
$(LIBEXAMPLES): $(call object,$(EXAMPLE_SRC))
$(LIBHRPB) $(LIBEXAMPLES):
	@mkdir -p $(@D)
	$(call short,AR) $(call whole,$(AR) cr $(new) $^)

$(PROGRAMS): $(BUILD)/bin/%: $(LIBEXAMPLES) $(LIBRARY) | $(LIBEIGEN)
	@mkdir -p $(@D)
	$(call short,LINK) $(call whole,$(LINK) -o $(new) $(filter %/$*.o,$^) $(LIBEXAMPLES) $(LIBRARY) $(EXAMPLE_LIBS))
$(foreach source,$(PROGRAM_SRC),$(eval $(BUILD)/bin/$(basename $(notdir $(source))): $(call object,$(source))))

$(filter $(BUILD)/tutorials/ksp-%,$(TUTORIALS)): $(BUILD)/tutorials/ksp-%: $(dir $(GMAKEFILE_TEST))src/ksp/ksp/tutorials/%.c
$(filter $(BUILD)/tutorials/snes-%,$(TUTORIALS)): $(BUILD)/tutorials/snes-%: $(dir $(GMAKEFILE_TEST))src/snes/tutorials/%.c
$(TUTORIALS): $(BUILD)/config.mk
	@mkdir -p $(@D)
	$(call short,CC) $(call whole,$(CC) $(PCC_FLAGS) $(CFLAGS) $(CCPPFLAGS) -o $(new) $(filter %.c,$^) $(PETSC_LIB))

$(foreach source,$(DEVICE_TEST_SRC),$(eval $(BUILD)/device/$(basename $(notdir $(source))): $(call object,$(source))))
$(DEVICE_TESTS): $(call object,$(DEVICE_SRC)) $(LIBHRPB)
	@mkdir -p $(@D)
	$(call short,LINK) $(call whole,$(LINK) -o $(new) $(filter %.o,$^) $(LIBHRPB) $(PETSC_LIB) -lstdc++)

# They start faster without what a compiler for MPI links
$(BUILD)/starter/starter: test/starter/starter.c test/starter/starter.h
$(BUILD)/starter/starter-server.so: private starter_flags = -shared -fPIC
$(BUILD)/starter/starter-server.so: test/starter/server.c test/starter/starter.h
$(STARTERS):
	@mkdir -p $(@D)
	$(call short,CC) $(call whole,$(LINK) -O2 $(WARNINGS) $(CFLAGS) $(starter_flags) -o $(new) $< -ldl)

$(BUILD)/fuzz/hrpb: $(call sanitized,test/fuzz/hrpb.c test/fuzz/fuzz.c $(HOST_SRC))
$(BUILD)/fuzz/mtx: $(call sanitized,test/fuzz/mtx.c test/fuzz/fuzz.c examples/common/matload.c examples/common/mtxreader.c)
$(BUILD)/fuzz/%:
	@mkdir -p $(@D)
	$(call short,LINK) $(call whole,$(LINK_SANITIZED) -o $(new) $^ $(PETSC_LIB) -lz -lm)

$(BUILD)/sanitize/%.o: %.c $(call command,sanitize)
	@mkdir -p $(@D)
	$(call short,SANITIZE) $(call compiled,$(COMPILE_SANITIZED) $<)
-include $(wildcard $(BUILD)/sanitize/*/*.d $(BUILD)/sanitize/*/*/*.d)

$(BUILD)/obj/%.o: %.c $(call command,library)
	@mkdir -p $(@D)
	$(call short,CC) $(call compiled,$(COMPILE) $<)
$(CUDA_BUILD)/obj/%.cu.o: %.cu $(call command,cuda)
	@mkdir -p $(@D)
	$(call short,CUDAC) $(call compiled,$(COMPILE_CUDA) $<)
ifneq ($(CUDA_BUILD),$(BUILD))
$(call command,cuda): private HRPB_FLAGS := $(filter-out -DHRPB_USE_COMPLEX,$(HRPB_FLAGS))
$(CUDA_BUILD)/obj/%.cu.o: private HRPB_FLAGS := $(filter-out -DHRPB_USE_COMPLEX,$(HRPB_FLAGS))
$(BUILD)/obj/%.cu.o: %.cu $(call command,library)
	@mkdir -p $(@D)
	$(call short,CUDAC) $(call compiled,$(COMPILE_CUDA) $<)
endif
$(call object,$(EIGEN_SRC)): private INCLUDE += $(SLEPC_INCLUDE)
$(call object,$(EIGEN_SRC)): $(call command,eigen)
$(BUILD)/obj/examples/%.o: private INCLUDE += $(EXAMPLE_INCLUDE)
$(filter-out %.cu.o,$(call object,$(PROGRAM_SRC) $(EXAMPLE_SRC))): $(call command,examples)
$(call object,$(PROGRAM_SRC) $(EXAMPLE_SRC)): | need-slepc
-include $(patsubst %.o,%.d,$(call object,$(LIB_SRC) $(EIGEN_SRC) $(PROGRAM_SRC) $(EXAMPLE_SRC) $(DEVICE_TEST_SRC)))

.PRECIOUS: $(EMULATED)/% $(EMULATED)/%.h
$(EMULATED)/%.h: %.h
	@mkdir -p $(@D); $(call whole,cp $< $(new))
$(EMULATED)/%: % test/emulator/translate
	@mkdir -p $(@D); $(call whole,test/emulator/translate $< $(new))
$(EMULATED)/900/obj/%.o: $(EMULATED)/%.cu $(call command,emulated) | $(EMULATED_TEXT) need-cxx
	@mkdir -p $(@D)
	$(call short,EMULATED) $(call compiled,$(COMPILE_EMULATED) -DEMULATED_ARCH=900 $<)
# What asks for no architecture is the same for both. What device.cuh asks for is for hardware: here these calls do nothing
$(EMULATED)/800/obj/%.o: $(EMULATED)/900/obj/%.o
	@mkdir -p $(@D)
	@if tr ' ' '\n' <$(<:.o=.d) | grep '^$(EMULATED)/.*\.cuh\?$$' | grep -v /common/device.cuh | sort -u | xargs grep -qE 'EMULATED_ARCH|cudaFuncGetAttributes'; then \
	  printf '%9s %s\n' EMULATED '$(subst $(BUILD)/,,$@)' >&2; $(call compiled,$(COMPILE_EMULATED) -DEMULATED_ARCH=800 $(EMULATED)/$*.cu); else ln -f $< $@; fi
define emulated_for
$(EMULATED)/$(1)/obj/emulator.o: test/emulator/emulator.cpp $(call command,emulated) | need-cxx
	@mkdir -p $$(@D)
	$$(call short,EMULATED) $$(call compiled,$$(COMPILE_EMULATED) -O2 -DEMULATED_ARCH=$(1) $$<)
$(filter $(EMULATED)/$(1)/%,$(filter-out $(EMULATED_COMPLEX),$(EMULATED_TESTS))): $(EMULATED)/$(1)/%: $(EMULATED)/$(1)/obj/test/device/%.o $(patsubst %.cu,$(EMULATED)/$(1)/obj/%.o,$(wildcard kernels/*/*.cu)) $(EMULATED)/$(1)/obj/emulator.o $(LIBHRPB)
	$$(call short,LINK) $$(call whole,$(CXX) -no-pie $(EMULATED_SANITIZE) -o $$(new) $$^)
endef
$(foreach arch,900 800,$(eval $(call emulated_for,$(arch))))
$(EMULATED)/900/obj/complex/%.o: $(EMULATED)/%.cu $(call command,emulated) | $(EMULATED_TEXT) need-cxx
	@mkdir -p $(@D)
	$(call short,EMULATED) $(call compiled,$(COMPILE_EMULATED) -DEMULATED_ARCH=900 -DHRPB_USE_COMPLEX $<)
$(EMULATED)/900/obj/complex/%.o: %.c $(call command,library)
	@mkdir -p $(@D)
	$(call short,CC) $(call compiled,$(COMPILE) -DHRPB_USE_COMPLEX $<)
$(EMULATED)/900/block-complex: $(patsubst %,$(EMULATED)/900/obj/complex/%.o,test/device/block $(basename $(wildcard kernels/block/*.cu kernels/block/*.c))) \
                     $(patsubst %.cu,$(EMULATED)/900/obj/%.o,$(filter-out kernels/block/%,$(wildcard kernels/*/*.cu))) $(EMULATED)/900/obj/emulator.o $(LIBHRPB)
	$(call short,LINK) $(call whole,$(CXX) -no-pie $(EMULATED_SANITIZE) -o $(new) $^)
-include $(wildcard $(EMULATED)/*/obj/*.d $(EMULATED)/*/obj/*/*/*.d $(EMULATED)/*/obj/*/*/*/*.d)

.PHONY: need-cxx need-slepc
need-cxx:
	@: $(if $(CXX),,$(error test-emulated needs a C++ compiler: use a PETSc that was configured with one))
need-slepc:
	@: $(if $(SLEPC_LIB),,$(error examples and tests need SLEPc: set SLEPC_DIR to the one that was built with the PETSc in $(PETSC_DIR)))

programs: $(PROGRAMS)

example: $(BUILD)/bin/vibration
	@. src/config/mpi-env.sh; mkdir -p $(BUILD)/example; \
	  set -x; $(MPIEXEC) -n $(or $(NP),1) $< $$gpu_mpi_options -mat_type aijtcu -output_dir $(BUILD)/example $(EXAMPLE_ARGS)

COMMIT := $(shell git describe --always --dirty 2>/dev/null || echo unknown)
bench: $(BUILD)/bin/bench
	@. src/config/mpi-env.sh; mkdir -p $(CURDIR)/build/bench; table=$(CURDIR)/build/bench/bench-$(NAME).csv; rm -f "$$table"; set -x; \
	  $< $$gpu_mpi_options -commit '$(COMMIT)' -csv "$$table" $(BENCH_ARGS) && examples/bench/report "$$table" && \
	  mult=$(CURDIR)/build/bench/mult-$(NAME).csv && rm -f "$$mult" && \
	  $< $$gpu_mpi_options -commit '$(COMMIT)' $(BENCH_ARGS) -csv "$$mult" -vector -N 1 -variants auto && examples/bench/report "$$mult" && \
	  sampled=$(CURDIR)/build/bench/sampled-$(NAME).csv && rm -f "$$sampled" && \
	  $< $$gpu_mpi_options -commit '$(COMMIT)' -N 32,64,128 -variants rows,auto,csr,tcu,apart $(BENCH_ARGS) -csv "$$sampled" -operations sampled,fused && examples/bench/report "$$sampled"
bench-solve: $(BUILD)/bin/solve
	@. src/config/mpi-env.sh; mkdir -p $(CURDIR)/build/bench; table=$(CURDIR)/build/bench/solve-$(NAME).csv; rm -f "$$table"; set -x; \
	  $< $$gpu_mpi_options -commit '$(COMMIT)' -csv "$$table" $(BENCH_ARGS)

bench-programs: $(TUTORIALS) $(BUILD)/bin/loads $(LIBRARY)
	@. src/config/mpi-env.sh; mkdir -p $(CURDIR)/build/bench; table=$(CURDIR)/build/bench/programs-$(NAME).csv; rm -f "$$table"; set -x; \
	  examples/programs/programs --programs $(BUILD)/tutorials $(BUILD)/bin --library $(LIBRARY) --commit '$(COMMIT)' --csv "$$table" $(BENCH_ARGS)

bench-eigen: $(BUILD)/bin/lobpcg
	@. src/config/mpi-env.sh; mkdir -p $(CURDIR)/build/bench; table=$(CURDIR)/build/bench/eigen-$(NAME).csv; rm -f "$$table"; \
	  run() { (set -x; $< $$gpu_mpi_options -commit '$(COMMIT)' -csv "$$table" "$$@" $(BENCH_ARGS)) || exit 1; }; run; \
	  for type in aijcusparse aijtcu:off aijtcu; do for block in 16 32; do run -once -types $$type -blocks $$block -orthogonalizations gs; done; run -once -types $$type -blocks 32 -orthogonalizations chol; done

bench-parallel: $(BUILD)/bin/parallel $(BUILD)/bin/lobpcg $(BUILD)/bin/solve
	@. src/config/mpi-env.sh; mkdir -p $(CURDIR)/build/bench; table=$(CURDIR)/build/bench/parallel-$(NAME).csv; solves=$(CURDIR)/build/bench/parallel-lobpcg-$(NAME).csv; blocks=$(CURDIR)/build/bench/parallel-solve-$(NAME).csv; \
	  rm -f "$$table" "$$solves" "$$blocks"; for n in $(or $(RANKS),1 2); do for weak in 0 1; do \
	    (set -x; $(MPIEXEC) -n $$n $< $$gpu_mpi_options -commit '$(COMMIT)' -csv "$$table" -weak $$weak -partitions 2,4,8,16,32,64 $(BENCH_ARGS)) || exit 1; done; \
	    (set -x; $(MPIEXEC) -n $$n $(BUILD)/bin/lobpcg $$gpu_mpi_options -commit '$(COMMIT)' -csv "$$solves" -types aijtcu -blocks 32 -orthogonalizations chol) || exit 1; \
	    (set -x; $(MPIEXEC) -n $$n $(BUILD)/bin/solve $$gpu_mpi_options -commit '$(COMMIT)' -csv "$$blocks" -types aijtcu -columns 32 -solvers cg-jacobi,bcg-jacobi) || exit 1; done; \
	  examples/parallel/model $(MODEL_ARGS) "$$table"

# The tests' own compiler and linker flags travel in the environment: test/run calls PETSc's harness with them
TEST_ENV = BUILD='$(BUILD)' PETSC_DIR='$(PETSC_DIR)' PETSC_ARCH='$(PETSC_ARCH)' SLEPC_DIR='$(SLEPC_DIR)' TESTS='$(TESTS)' \
  GMAKEFILE_TEST='$(GMAKEFILE_TEST)' TEST_CFLAGS='$(WARNINGS) $(INCLUDE) $(EXAMPLE_INCLUDE) $(HRPB_FLAGS)' \
  TEST_OBJECTS='$(LIBEXAMPLES) $(LIBHRPB) $(LIBRARY)' TEST_LIBS='$(EXAMPLE_LIBS)' \
  DROPIN_CC='$(CC) $(PCC_FLAGS) $(CCPPFLAGS) $(SLEPC_INCLUDE)' DROPIN_LIBS='$(SLEPC_LIB) $(PETSC_LIB)'

# DESTDIR, PREFIX
install_into = $(ASKED) $(MAKE) --no-print-directory --silent install DESTDIR='$(1)' PREFIX='$(2)' >>'$(BUILD)/install/said' 2>&1 || { cat '$(BUILD)/install/said' >&2; exit 1; }
# Tests of kernels alone take minutes to compile, and are not run without a GPU
HAVE_GPU := $(if $(filter test,$(MAKECMDGOALS)),$(shell nvidia-smi -L 2>/dev/null | grep -m 1 GPU))
test: $(LIBRARIES) $(LIBHRPB) $(LIBEXAMPLES) $(STARTERS) $(if $(HAVE_GPU),$(DEVICE_TESTS)) $(FUZZERS)
	@rm -rf '$(BUILD)/install' && mkdir '$(BUILD)/install'
	@$(call install_into,,$(BUILD)/install/prefix)
	@$(call install_into,$(BUILD)/install/destdir,/usr)
	@$(call install_into,,$(BUILD)/install/a prefix)
	@$(TEST_ENV) MPIEXEC='$(MPIEXEC)' test/run

RUNS ?= 1000000
SEED ?= 1
fuzz: $(FUZZERS)
	@test/fuzz/run $(BUILD)/fuzz hrpb $(RUNS) $(SEED) && test/fuzz/run $(BUILD)/fuzz mtx $(RUNS) $(SEED)

test-headers: INCLUDE += $(EXAMPLE_INCLUDE)
test-headers: | need-slepc
	@$(TEST_ENV) PETSCAIJTCU_CACHE='$(PETSCAIJTCU_CACHE)' HEADERS_CC='$(CC)' HEADERS_FLAGS='$(COMPILE_FLAGS)' \
	  SOURCES='$(HOST_SRC) $(wildcard src/*/*.c examples/*.c examples/*/*.c test/aijtcu/tests/*.c)' test/headers

test-matrix:
	@env -u PETSC_DIR -u PETSC_ARCH -u SLEPC_DIR test/sum 'test SCALAR=complex' 'test INDEX=64' 'test PETSC_VERSION=3.24' 'test PETSC_VERSION=3.25' 'test DEBUG=1'

test-architectures:
	@BUILD='$(BUILD)' ARCHITECTURES='$(ARCHITECTURES)' PRECISIONS='$(PRECISIONS)' COMPILE='$(COMPILE_NO_GPU)' SOURCES='$(wildcard kernels/*/*.cu)' test/architectures

test-emulated: $(EMULATED_TESTS)
	@test/emulator/run $(EMULATED_TESTS)

test-petsc test-slepc: test-%: $(LIBRARIES) $(STARTERS)
	@$(TEST_ENV) CUDA='$(CUDA)' MPIEXEC='$(MPIEXEC)' test/petsc $*

test-packaging: $(LIBRARIES)
	@$(TEST_ENV) test/dropin build '$(BUILD)/dropin' && $(TEST_ENV) packaging/check $(PARTS)

bundle: $(LIBRARIES) $(LIBHRPB) $(LIBEXAMPLES) $(STARTERS) $(PROGRAMS) $(DEVICE_TESTS) $(TUTORIALS)
	@$(TEST_ENV) COMMIT='$(COMMIT)' src/config/bundle $(CURDIR)/build/bundle/petsc-aijtcu-$(NAME).tar.xz $(PROGRAMS)

dist:
	@file=build/dist/petsc-aijtcu-$(VERSION).tar.gz; packaging/dist source $$file && packaging/dist recipes $$file build/dist && packaging/dist pypi build/dist/pypi && ls build/dist/*

abi:
	@$(if $(OLD),,echo "make abi needs OLD=commit" >&2; exit 1;) CC='$(CC) $(PCC_FLAGS) $(CCPPFLAGS)' packaging/abi $(OLD) $(NEW)

DOCS_SRC := include/petscaijtcu.h $(wildcard src/*/*.c)
docs: build/docs/html/index.html
build/docs/html/index.html: $(DOCS_SRC) src/config/docs src/config/manualpages.py
	@src/config/docs build/docs $(PETSC_DIR)/include $(DOCS_SRC)

PREFIX  ?= /usr/local
INSTALLED = LIBRARY='$(LIBRARY)' LIBEIGEN='$(LIBEIGEN)' SONAME='$(SONAME)' VERSION='$(VERSION)' PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' PETSC_DIR='$(PETSC_DIR)' \
  PETSC_ARCH='$(PETSC_ARCH)' PETSC_RANGE='$(PETSC_VERSION_RANGE)' MANPAGES="$$(echo build/docs/man/man3/*.3)" packaging/install/install
install: $(LIBRARIES) docs
	@$(INSTALLED) install
uninstall: docs
	@$(INSTALLED) uninstall

env: $(LIBRARIES)
	@PETSC_DIR='$(PETSC_DIR)' PETSC_ARCH='$(PETSC_ARCH)' SLEPC_DIR='$(SLEPC_DIR)' src/config/env $(LIBRARY)

endif
