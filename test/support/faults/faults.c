/*
 * Makes system calls of a process fail, wait or end the process, for tests. Loaded by LD_PRELOAD,
 * controlled through the file that TABULARIUM_TEST_FAULTS names, which every process maps and the
 * test writes: see faults.ts, which has the same layout.
 *
 * It stands in front of functions of libc. What libc calls itself, such as stdio, passes it by.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { RULES = 16, PATH_BYTES = 448, TABLES = 2 };

enum call {
  CALL_OPEN = 1 << 0,
  CALL_WRITE = 1 << 1,
  CALL_WRITEV = 1 << 2,
  CALL_PWRITE = 1 << 3,
  CALL_PWRITEV = 1 << 4,
  CALL_FSYNC = 1 << 5,
  CALL_FDATASYNC = 1 << 6,
  CALL_MSYNC = 1 << 7,
  CALL_FTRUNCATE = 1 << 8,
  CALL_RENAME = 1 << 9,
  CALL_UNLINK = 1 << 10,
  CALL_MKDIR = 1 << 11,
};

enum action { COUNT, FAIL, DELAY, END_BEFORE, END_AFTER, END_HALFWAY };

/* 512 bytes. A rule without calls ends the table. */
struct rule {
  uint32_t calls;
  uint32_t action;
  int32_t error;
  uint32_t delay_ms;
  int32_t pid;
  uint32_t after; /* how many matching calls pass untouched at first */
  uint32_t every; /* then each nth is hit, 1: each */
  uint32_t times; /* and at most so many, 0: for ever */
  uint64_t seen;  /* matching calls so far, of all processes */
  uint64_t hit;
  uint64_t reserved;
  char path[PATH_BYTES + 8]; /* the path must contain it */
};
_Static_assert(sizeof(struct rule) == 512, "the layout that faults.ts writes");

struct control {
  uint32_t current; /* changes with each set of rules; the lowest bit is the table in use */
  uint32_t padding[127];
  struct rule tables[TABLES][RULES];
};

static struct control *control;

__attribute__((constructor)) static void attach(void) {
  const char *name = getenv("TABULARIUM_TEST_FAULTS");
  if (name == NULL) return;
  int fd = open(name, O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    fprintf(stderr, "TABULARIUM_TEST_FAULTS cannot be opened: %s\n", name);
    _exit(111);
  }
  void *at = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) _exit(112);
  close(fd);
  control = at;
}

static void end_process(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

/* Waits, but not longer than the rules stay as they are. */
static void wait_ms(uint32_t ms, uint32_t current) {
  const struct timespec slice = {0, 2000000};
  struct timespec from, now;
  clock_gettime(CLOCK_MONOTONIC, &from);
  while (__atomic_load_n(&control->current, __ATOMIC_ACQUIRE) == current) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t passed = (now.tv_sec - from.tv_sec) * 1000LL + (now.tv_nsec - from.tv_nsec) / 1000000;
    if (passed >= ms) return;
    nanosleep(&slice, NULL);
  }
}

static int is_due(struct rule *rule) {
  uint64_t at = __atomic_fetch_add(&rule->seen, 1, __ATOMIC_SEQ_CST);
  if (at < rule->after) return 0;
  uint64_t turn = at - rule->after;
  uint32_t every = rule->every == 0 ? 1 : rule->every;
  if (turn % every != 0) return 0;
  if (rule->times != 0 && turn / every >= rule->times) return 0;
  __atomic_fetch_add(&rule->hit, 1, __ATOMIC_SEQ_CST);
  return 1;
}

/* The path behind a descriptor, such as "/a/b", "socket:[1]", "/a/b (deleted)". */
static void path_of(int fd, char *into) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t count = readlink(link, into, PATH_MAX - 1);
  into[count < 0 ? 0 : count] = 0;
}

struct decision {
  uint32_t action;
  int error;
};

/* What shall become of one call. Waits here if it shall wait. `path` NULL: that behind `fd`. */
static struct decision decide(enum call call, const char *path, int fd) {
  struct decision pass = {COUNT, 0};
  if (control == NULL) return pass;
  int saved = errno;
  uint32_t current = __atomic_load_n(&control->current, __ATOMIC_ACQUIRE);
  struct rule *rules = control->tables[current & 1];
  char found[PATH_MAX];
  for (int i = 0; i < RULES && rules[i].calls != 0; i++) {
    struct rule *rule = &rules[i];
    if ((rule->calls & call) == 0) continue;
    if (rule->pid != 0 && rule->pid != getpid()) continue;
    if (path == NULL && fd >= 0) path_of(fd, found), path = found;
    if (path != NULL && strstr(path, rule->path) == NULL) continue;
    if (!is_due(rule) || rule->action == COUNT) continue;
    if (rule->action == DELAY) {
      wait_ms(rule->delay_ms, current);
      continue;
    }
    if (rule->action == END_BEFORE) end_process();
    errno = saved;
    return (struct decision){rule->action, rule->error};
  }
  errno = saved;
  return pass;
}

#define REAL(name) ((__typeof__(&name))real(#name))

static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) end_process();
  return found;
}

/* Runs `call` as the decision says; the value of the surrounding function. */
#define OBEY(decision, type, call)                       \
  do {                                                   \
    if ((decision).action == FAIL) {                     \
      errno = (decision).error;                          \
      return -1;                                         \
    }                                                    \
    type result = (call);                                \
    if ((decision).action == END_AFTER) end_process();   \
    if ((decision).action == END_HALFWAY) end_process(); \
    return result;                                       \
  } while (0)

/* Half of the bytes, for a write that its process does not survive. */
static size_t share(struct decision decision, size_t bytes) {
  return decision.action == END_HALFWAY ? bytes / 2 : bytes;
}

static int has_mode(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

#define OPEN(name)                                          \
  int name(const char *path, int flags, ...) {              \
    mode_t mode = 0;                                        \
    if (has_mode(flags)) {                                  \
      va_list rest;                                         \
      va_start(rest, flags);                                \
      mode = va_arg(rest, mode_t);                          \
      va_end(rest);                                         \
    }                                                       \
    struct decision decision = decide(CALL_OPEN, path, -1); \
    OBEY(decision, int, REAL(name)(path, flags, mode));     \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                        \
  int name(int at, const char *path, int flags, ...) {      \
    mode_t mode = 0;                                        \
    if (has_mode(flags)) {                                  \
      va_list rest;                                         \
      va_start(rest, flags);                                \
      mode = va_arg(rest, mode_t);                          \
      va_end(rest);                                         \
    }                                                       \
    struct decision decision = decide(CALL_OPEN, path, -1); \
    OBEY(decision, int, REAL(name)(at, path, flags, mode)); \
  }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int fd, const void *bytes, size_t count) {
  struct decision decision = decide(CALL_WRITE, NULL, fd);
  OBEY(decision, ssize_t, REAL(write)(fd, bytes, share(decision, count)));
}

#define PWRITE(name, offset_type)                                               \
  ssize_t name(int fd, const void *bytes, size_t count, offset_type at) {       \
    struct decision decision = decide(CALL_PWRITE, NULL, fd);                   \
    OBEY(decision, ssize_t, REAL(name)(fd, bytes, share(decision, count), at)); \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t writev(int fd, const struct iovec *parts, int count) {
  struct decision decision = decide(CALL_WRITEV, NULL, fd);
  OBEY(decision, ssize_t, REAL(writev)(fd, parts, (int)share(decision, (size_t)count)));
}

#define PWRITEV(name, offset_type)                                             \
  ssize_t name(int fd, const struct iovec *parts, int count, offset_type at) { \
    struct decision decision = decide(CALL_PWRITEV, NULL, fd);                 \
    OBEY(decision, ssize_t,                                                    \
         REAL(name)(fd, parts, (int)share(decision, (size_t)count), at));      \
  }
PWRITEV(pwritev, off_t)
PWRITEV(pwritev64, off64_t)

int fsync(int fd) {
  struct decision decision = decide(CALL_FSYNC, NULL, fd);
  OBEY(decision, int, REAL(fsync)(fd));
}

int fdatasync(int fd) {
  struct decision decision = decide(CALL_FDATASYNC, NULL, fd);
  OBEY(decision, int, REAL(fdatasync)(fd));
}

/* Has no path: a rule for it holds whatever its path. */
int msync(void *at, size_t count, int flags) {
  struct decision decision = decide(CALL_MSYNC, NULL, -1);
  OBEY(decision, int, REAL(msync)(at, count, flags));
}

#define FTRUNCATE(name, offset_type)                             \
  int name(int fd, offset_type bytes) {                          \
    struct decision decision = decide(CALL_FTRUNCATE, NULL, fd); \
    OBEY(decision, int, REAL(name)(fd, bytes));                  \
  }
FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)

int rename(const char *from, const char *to) {
  struct decision decision = decide(CALL_RENAME, to, -1);
  OBEY(decision, int, REAL(rename)(from, to));
}

int unlink(const char *path) {
  struct decision decision = decide(CALL_UNLINK, path, -1);
  OBEY(decision, int, REAL(unlink)(path));
}

int mkdir(const char *path, mode_t mode) {
  struct decision decision = decide(CALL_MKDIR, path, -1);
  OBEY(decision, int, REAL(mkdir)(path, mode));
}
