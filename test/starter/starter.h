/* What a starter asks of a server: see starter.c */
#ifndef AIJTCU_TEST_STARTER_H
#define AIJTCU_TEST_STARTER_H

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#define SERVE_AT "AIJTCU_STARTER_SERVE" /* environment of a program that shall serve: its listening socket's path */

enum {
  LISTENING = 3, /* the socket's number there */
  STREAMS   = 4  /* what comes with a request: standard input, output and error, and the folder */
};

/*
   The strings of arguments and variables follow. The server answers with one int, 1 if the program was started, and with
   another when it has ended: the status as of wait(). What it is sent between is numbers of signals for the program, a
   byte each. Where the connection ends the program is killed.
*/
typedef struct {
  int    argc, envc;
  mode_t mask;
  size_t bytes;
} Request;

static inline int Transfer(int s, void *buffer, size_t n, int out)
{
  for (char *p = (char *)buffer; n;) {
    const ssize_t k = out ? send(s, p, n, MSG_NOSIGNAL) : recv(s, p, n, 0);

    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return -1;
    p += k;
    n -= (size_t)k;
  }
  return 0;
}

static inline int TransferRequest(int s, Request *r, int fd[STREAMS], int out)
{
  union {
    char           bytes[CMSG_SPACE(STREAMS * sizeof(int))];
    struct cmsghdr head;
  } control              = {{0}};
  struct iovec    part   = {r, sizeof(*r)};
  struct msghdr   m      = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
  struct cmsghdr *more   = CMSG_FIRSTHDR(&m);
  const size_t    length = CMSG_LEN(STREAMS * sizeof(int));

  if (out) {
    *more = (struct cmsghdr){.cmsg_len = length, .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(more), fd, STREAMS * sizeof(int));
    return sendmsg(s, &m, MSG_NOSIGNAL) == (ssize_t)sizeof(*r) ? 0 : -1;
  }
  if (recvmsg(s, &m, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*r) || !(more = CMSG_FIRSTHDR(&m)) || more->cmsg_len != length) return -1;
  memcpy(fd, CMSG_DATA(more), STREAMS * sizeof(int));
  return 0;
}

#endif
