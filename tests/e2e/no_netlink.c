// Preloaded into Chromium: it gets no netlink socket, so that it does not learn of network interfaces that
// come and go. When it does, it gives up all requests under way (ERR_NETWORK_CHANGED, "Failed to fetch"),
// those to loopback too, and the pods of other tests on this machine bring about such changes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>

int socket(int domain, int type, int protocol) {
  if (domain == AF_NETLINK) {
    errno = EPERM;
    return -1;
  }
  int (*next)(int, int, int) = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
  return next(domain, type, protocol);
}
