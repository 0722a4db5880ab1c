/*
   Starts programs of tests by fork() in place of exec(), so that their libraries are loaded once for a program, not once
   for a run. On machines where loading PETSc and CUDA takes a second of the whole system, a thousand runs are minutes
   shorter. It stands for mpiexec:

     starter -n N PROGRAM ARGUMENT...

   AIJTCU_STARTER    a folder for sockets. Servers end when it is removed, and take their programs with them
   AIJTCU_STARTER_MPIEXEC    mpiexec, with options

   The first run of a program starts it with server.c in front of its main(), which forks for this run and those that
   follow. So it is the program itself that runs, with its own functions in the place of those of libraries, its own
   variables and constructors. A run has arguments, environment, folder, umask and streams of who asks, who ends as the
   run does. Signals to who asks go to the run. One process needs no mpiexec: MPI starts it alone. Several are started
   by mpiexec, and each asks.

   What cannot be served starts as ever: what is no dynamic ELF file with a path, what has an LD_PRELOAD, and a program
   that ends before it serves.
*/
#define _GNU_SOURCE
#include "starter.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  WAITING   = 1000, /* runs of one program that wait to be started */
  TIMED_OUT = 110,  /* exit status, as of Open MPI's mpiexec */
  LOST      = 125   /* exit status: the server has gone */
};

extern char **environ;
static int    server = -1; /* the connection */

static void Forward(int sig)
{
  const char byte = (char)sig;

  (void)!send(server, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* PETSc's harness looks for the first word */
static void TimeOut(int sig)
{
  static const char text[] = "MPIEXEC_TIMEOUT: the time limit of this run is over\n";

  (void)sig;
  (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
  _exit(TIMED_OUT);
}

/* Whether a library can be put before a program */
static int IsDynamic(const char *program)
{
  const int  fd = open(program, O_RDONLY | O_CLOEXEC);
  int        is = 0;
  Elf64_Ehdr head;
  Elf64_Phdr segment;

  if (fd < 0) return 0;
  if (read(fd, &head, sizeof(head)) == (ssize_t)sizeof(head) && !memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_ident[EI_CLASS] == ELFCLASS64) {
    for (int i = 0; i < head.e_phnum && !is; i++) {
      if (pread(fd, &segment, sizeof(segment), (off_t)(head.e_phoff + (size_t)i * sizeof(segment))) != (ssize_t)sizeof(segment)) break;
      is = segment.p_type == PT_INTERP;
    }
  }
  close(fd);
  return is;
}

/* The program as a server, which ends when it likes. It keeps nothing of this process but the socket */
static void Serve(int listening, const char *program, const char *path)
{
  char self[PATH_MAX], library[PATH_MAX + 16];
  int  null;

  if (fork()) return;
  const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

  self[n > 0 ? n : 0] = '\0';
  snprintf(library, sizeof(library), "%s-server.so", self);
  setenv("LD_PRELOAD", library, 1);
  setenv(SERVE_AT, path, 1);
  setsid();
  null = open("/dev/null", O_RDWR);
  for (int i = 0; i < 3; i++) dup2(null, i);
  dup2(listening, LISTENING);
  fcntl(LISTENING, F_SETFD, 0);
  (void)close_range(LISTENING + 1, ~0U, 0);
  if (n > 0) execl(program, program, (char *)NULL);
  _exit(LOST);
}

/* A connection to the program's server, or -1. A socket gets its name when it listens, so that one with a name at which
   nobody listens is of a server that died */
static int Connect(const char *folder, const char *program)
{
  struct sockaddr_un at = {.sun_family = AF_UNIX}, mine = at;
  struct stat        st;
  int                s, listening;

  if (stat(program, &st)) return -1;
  if (snprintf(at.sun_path, sizeof(at.sun_path), "%s/%llx-%llx", folder, (unsigned long long)st.st_dev, (unsigned long long)st.st_ino) >= (int)sizeof(at.sun_path)) return -1;
  if (snprintf(mine.sun_path, sizeof(mine.sun_path), "%s.%d", at.sun_path, getpid()) >= (int)sizeof(mine.sun_path)) return -1;
  for (int attempt = 0; attempt < 10; attempt++) {
    s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s < 0) return -1;
    if (!connect(s, (struct sockaddr *)&at, sizeof(at))) return s;
    const int gone = errno == ECONNREFUSED;

    close(s);
    if (!gone && errno != ENOENT) return -1;
    listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listening < 0 || bind(listening, (struct sockaddr *)&mine, sizeof(mine)) || listen(listening, WAITING)) return -1;
    if (gone ? !rename(mine.sun_path, at.sun_path) : !link(mine.sun_path, at.sun_path)) Serve(listening, program, at.sun_path);
    unlink(mine.sun_path);
    close(listening);
  }
  return -1;
}

/* End as the program does. Returns where it was not started */
static void Ask(char **argv, int limit)
{
  static const int forwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM};
  const char      *folder      = getenv("AIJTCU_STARTER");
  Request          r           = {.mask = umask(0)};
  int              fd[STREAMS] = {0, 1, 2, -1}, status;
  char            *strings, *p;

  umask(r.mask);
  if (!folder || getenv("LD_PRELOAD") || !strchr(argv[0], '/') || !IsDynamic(argv[0])) return;
  if (limit > 0) {
    signal(SIGALRM, TimeOut);
    alarm((unsigned int)limit);
  }
  for (; argv[r.argc]; r.argc++) r.bytes += strlen(argv[r.argc]) + 1;
  for (; environ[r.envc]; r.envc++) r.bytes += strlen(environ[r.envc]) + 1;
  p = strings = malloc(r.bytes);
  for (int i = 0; i < r.argc; i++) p = stpcpy(p, argv[i]) + 1;
  for (int i = 0; i < r.envc; i++) p = stpcpy(p, environ[i]) + 1;
  server = Connect(folder, argv[0]);
  fd[3]  = open(".", O_PATH | O_CLOEXEC);
  if (server >= 0 && fd[3] >= 0 && !TransferRequest(server, &r, fd, 1) && !Transfer(server, strings, r.bytes, 1) && !Transfer(server, &status, sizeof(status), 0) && status == 1) {
    for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++) {
      struct sigaction forward = {.sa_handler = Forward, .sa_flags = SA_RESTART}, was;

      sigaction(forwarded[i], NULL, &was);
      if (was.sa_handler != SIG_IGN) sigaction(forwarded[i], &forward, NULL);
    }
    if (Transfer(server, &status, sizeof(status), 0)) {
      fprintf(stderr, "starter: the server of %s has gone\n", argv[0]);
      exit(LOST);
    }
    if (WIFSIGNALED(status)) {
      setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* the program has left one */
      signal(WTERMSIG(status), SIG_DFL);
      raise(WTERMSIG(status));
    }
    exit(WEXITSTATUS(status));
  }
  alarm(0);
  close(server);
  close(fd[3]);
  free(strings);
}

static void Mpiexec(char **arguments)
{
  char **argv, *given = getenv("AIJTCU_STARTER_MPIEXEC");
  int    n = 0;

  while (arguments[n]) n++;
  argv    = calloc((size_t)n + 5, sizeof(*argv));
  argv[0] = (char *)"sh";
  argv[1] = (char *)"-c";
  argv[2] = (char *)"exec $0 \"$@\"";
  argv[3] = given ? given : (char *)"mpiexec";
  memcpy(argv + 4, arguments, (size_t)n * sizeof(*argv));
  execv("/bin/sh", argv);
  perror("/bin/sh");
  exit(127);
}

int main(int argc, char **argv)
{
  const char *limit = getenv("MPIEXEC_TIMEOUT"), *alone = "OMPI_MCA_ess_singleton_isolated"; /* starts no daemon for it */
  char        self[PATH_MAX] = "";

  if (argc < 2) {
    fprintf(stderr, "usage: starter -n N PROGRAM ARGUMENT...\n");
    return 2;
  }
  if (argv[1][0] != '-') { /* by mpiexec */
    Ask(argv + 1, 0);
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 127;
  }
  if (argc < 4 || strcmp(argv[1], "-n") || argv[3][0] == '-') Mpiexec(argv + 1);
  if (!strcmp(argv[2], "1")) {
    setenv(alone, "1", 1);
    Ask(argv + 3, limit ? atoi(limit) : 0);
    unsetenv(alone);
    Mpiexec(argv + 1);
  }
  if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0) Mpiexec(argv + 1);

  char **with = calloc((size_t)argc + 1, sizeof(*with));

  memcpy(with, argv + 1, 2 * sizeof(*with));
  with[2] = self;
  memcpy(with + 3, argv + 3, (size_t)(argc - 3) * sizeof(*with));
  Mpiexec(with);
}
