/*
   Stands in front of a program's main(), by LD_PRELOAD: waits for requests of starter.c, and forks for each. The child
   goes on into main(). It ends when nobody has asked for a while, or when its socket has gone.
*/
#define _GNU_SOURCE
#include "starter.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  MOST  = 1024, /* runs at a time */
  LOOK  = 200,  /* milliseconds after which it looks for its socket */
  QUIET = 20    /* seconds after which it ends if there was nothing to do: memory */
};

typedef int (*Main)(int, char **, char **);

/* What is waited for: who asks, which runs have ended, and for each run who waits for it */
static struct {
  struct pollfd watch[2 + MOST];
  pid_t         run[2 + MOST];
  int           n;
  Main          program;
  sigset_t      mask;
} server;

extern char **environ;

static void Forget(int i)
{
  close(server.watch[i].fd);
  server.n--;
  server.watch[i] = server.watch[server.n];
  server.run[i]   = server.run[server.n];
}

/* A child becomes the run. Its strings stay for ever */
static int Become(const Request *r, int fd[STREAMS], char *strings)
{
  const pid_t parent = getppid();
  char      **argv = calloc((size_t)r->argc + 1, sizeof(*argv)), **env = calloc((size_t)r->envc + 1, sizeof(*env));

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  for (int i = 0; i < server.n; i++) close(server.watch[i].fd);
  for (int i = 0; i < r->argc; i++, strings += strlen(strings) + 1) argv[i] = strings;
  for (int i = 0; i < r->envc; i++, strings += strlen(strings) + 1) env[i] = strings;
  if (fchdir(fd[3])) _exit(1);
  for (int i = 0; i < 3; i++) dup2(fd[i], i);
  for (int i = 0; i < STREAMS; i++) close(fd[i]);
  umask(r->mask);
  environ                       = env;
  program_invocation_name       = argv[0];
  program_invocation_short_name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
  sigprocmask(SIG_SETMASK, &server.mask, NULL);
  return server.program(r->argc, argv, env);
}

/* Somebody asks for a run. Returns whether this is the child */
static int Answer(Request *r, int fd[STREAMS], char **strings)
{
  const int s   = accept4(server.watch[0].fd, NULL, NULL, SOCK_CLOEXEC);
  pid_t     pid = -1;
  int       one = 1;

  *strings = NULL;
  if (s < 0) return 0;
  if (server.n < 2 + MOST && !TransferRequest(s, r, fd, 0)) {
    *strings = malloc(r->bytes);
    if (*strings && !Transfer(s, *strings, r->bytes, 0)) pid = fork();
    if (!pid) {
      setpgid(0, 0);
      close(s);
      return 1;
    }
    for (int i = 0; i < STREAMS; i++) close(fd[i]);
    free(*strings);
  }
  if (pid < 0) {
    close(s);
    return 0;
  }
  setpgid(pid, pid);
  (void)Transfer(s, &one, sizeof(one), 1);
  server.watch[server.n] = (struct pollfd){s, POLLIN, 0};
  server.run[server.n++] = pid;
  return 0;
}

/* Signals for runs. Who asks may have gone; then nobody wants the run */
static void Signal(void)
{
  for (int i = server.n - 1; i >= 2; i--) {
    unsigned char sig;

    if (!server.watch[i].revents) continue;
    if (recv(server.watch[i].fd, &sig, 1, MSG_DONTWAIT) == 1) kill(-server.run[i], sig);
    else {
      kill(-server.run[i], SIGKILL);
      Forget(i);
    }
  }
}

/* Tell those that wait which runs have ended */
static void Tell(void)
{
  struct signalfd_siginfo news;
  pid_t                   pid;
  int                     status;

  while (read(server.watch[1].fd, &news, sizeof(news)) > 0) {
  }
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    for (int i = 2; i < server.n; i++) {
      if (server.run[i] != pid) continue;
      (void)Transfer(server.watch[i].fd, &status, sizeof(status), 1);
      Forget(i);
      break;
    }
  }
}

static int Serve(int argc, char **argv, char **env)
{
  const char *path = getenv(SERVE_AT);
  sigset_t    ends;
  time_t      busy    = time(NULL);
  int         leaving = 0;
  Request     r       = {0};
  int         fd[STREAMS];
  char       *strings;

  (void)argc;
  (void)argv;
  (void)env;
  /* What the first call of CUDA would load. It does nothing yet, so that it may be forked */
  if (dlsym(RTLD_DEFAULT, "cudaRuntimeGetVersion")) (void)dlopen("libcuda.so.1", RTLD_LAZY);
  sigemptyset(&ends);
  sigaddset(&ends, SIGCHLD);
  sigprocmask(SIG_BLOCK, &ends, &server.mask);
  server.watch[0] = (struct pollfd){LISTENING, POLLIN, 0};
  server.watch[1] = (struct pollfd){signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK), POLLIN, 0};
  server.n        = 2;
  fcntl(LISTENING, F_SETFD, FD_CLOEXEC);
  for (;;) {
    const int news = poll(server.watch, (nfds_t)server.n, LOOK);

    if (news > 0) {
      Signal();
      if (server.watch[1].revents) Tell();
      if (server.watch[0].revents && Answer(&r, fd, &strings)) return Become(&r, fd, strings);
    } else if (news < 0 ? errno != EINTR : access(path, F_OK) && (!leaving || server.n == 2)) break;
    if (news > 0 || server.n > 2) busy = time(NULL);
    else if (!leaving && time(NULL) - busy > QUIET) leaving = !unlink(path); /* who asked before is answered */
  }
  for (int i = 2; i < server.n; i++) kill(-server.run[i], SIGKILL);
  _exit(0);
}

/* The program's own start calls this, with its main(). The C library goes on as if ours were that */
__attribute__((visibility("default"))) int __libc_start_main(Main program, int argc, char **argv, void (*init)(void), void (*fini)(void), void (*loaded)(void), void *stack)
{
  int (*next)(Main, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

  *(void **)&next = dlsym(RTLD_NEXT, "__libc_start_main");
  server.program  = program;
  return next(getenv(SERVE_AT) ? Serve : program, argc, argv, init, fini, loaded, stack);
}
