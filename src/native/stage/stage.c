/*
 * The first program inside a sandbox: it prepares what only a process inside can, and then becomes the program.
 * It has no C library and makes system calls only, so that it runs whatever the sandbox shows of the disk.
 *
 *   stage TERMINAL SOCKET PORTS FILE MOUNTS BYTES PROGRAM ARG0 [ARGUMENT...]
 *
 *   TERMINAL  "t": stdin becomes the controlling terminal; "-": there is none
 *   SOCKET    number of a socket that gets the listeners, or "-"
 *   PORTS     "1,2": ports of 127.0.0.1 to listen on
 *   FILE      descriptor of a file with two lists, of which each entry ends with NUL:
 *   MOUNTS    size of the first list: the mounts that there must be, as /proc/self/mountinfo spells them, each after
 *             "w" (writable) or "r"
 *   BYTES     size of the second list: the program's environment. What bubblewrap was started with is not passed on:
 *             variables such as LD_PRELOAD must not affect bubblewrap itself
 *   PROGRAM   a path, or a name to look up in PATH
 *
 * If the program cannot be run, it says so on stderr and exits with 101, like the sandbox of Codex.
 */

typedef unsigned long word;

#if defined(__x86_64__)
enum { NR_socket = 41, NR_bind = 49, NR_listen = 50, NR_sendmsg = 46, NR_ioctl = 16, NR_setsid = 112,
       NR_close = 3, NR_close_range = 436, NR_execve = 59, NR_write = 1, NR_exit_group = 231, NR_mmap = 9,
       NR_read = 0, NR_openat = 257, NR_faccessat = 269, NR_mount = 165, NR_prctl = 157, NR_capset = 126 };
static word call6(word number, word a, word b, word c, word d, word e, word f) {
  word result;
  register word r10 __asm__("r10") = d;
  register word r8 __asm__("r8") = e;
  register word r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
__asm__(".globl _start\n_start:\n xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call start\n");
#elif defined(__aarch64__)
enum { NR_socket = 198, NR_bind = 200, NR_listen = 201, NR_sendmsg = 211, NR_ioctl = 29, NR_setsid = 157,
       NR_close = 57, NR_close_range = 436, NR_execve = 221, NR_write = 64, NR_exit_group = 94, NR_mmap = 222,
       NR_read = 63, NR_openat = 56, NR_faccessat = 48, NR_mount = 40, NR_prctl = 167, NR_capset = 91 };
static word call6(word number, word a, word b, word c, word d, word e, word f) {
  register word x8 __asm__("x8") = number;
  register word x0 __asm__("x0") = a;
  register word x1 __asm__("x1") = b;
  register word x2 __asm__("x2") = c;
  register word x3 __asm__("x3") = d;
  register word x4 __asm__("x4") = e;
  register word x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}
__asm__(".globl _start\n_start:\n mov x29, xzr\n mov x0, sp\n bl start\n");
#else
#error "x64 and arm64 only"
#endif

static word call(word number, word a, word b, word c) { return call6(number, a, b, c, 0, 0, 0); }

enum { PROT_READ = 1, PROT_WRITE = 2, MAP_PRIVATE = 2, MAP_ANONYMOUS = 0x20, MAP_NORESERVE = 0x4000 };
enum { AT_FDCWD = -100, O_CLOEXEC = 02000000, R_OK = 4, MS_REC = 0x4000, MS_PRIVATE = 0x40000 };
enum { CAP_SETPCAP = 8, CAP_SYS_ADMIN = 21, CAPABILITY_VERSION = 0x20080522 };
enum { PR_CAPBSET_DROP = 24, PR_CAP_AMBIENT = 47, PR_CAP_AMBIENT_CLEAR_ALL = 4 };
enum { EPERM = 1, ENOENT = 2, ENOMEM = 12, EACCES = 13, ENOTDIR = 20, MAX_ERRNO = 4095 };
enum { TIOCSCTTY = 0x540e, AF_INET = 2, SOCK_STREAM = 1, SOCK_CLOEXEC = 02000000, SOL_SOCKET = 1, SCM_RIGHTS = 1 };
enum { NR_landlock_create_ruleset = 444, NR_landlock_restrict_self = 446, LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET = 1 };
enum { MAX_LISTENERS = 4, BACKLOG = 128, CANNOT_RUN = 101, MAX_MOUNTS = 100000, MAX_MOUNTINFO = 1 << 26 };

static word length(const char *text) {
  word count = 0;
  while (text[count]) count++;
  return count;
}

static void say(const char *text) { call(NR_write, 2, (word)text, length(text)); }

static void fail(const char *what, const char *name, word error) {
  char digits[8];
  int at = sizeof digits - 1;
  digits[at] = 0;
  for (word rest = -error; at > 0 && (rest > 0 || !digits[at]); rest /= 10) digits[--at] = '0' + rest % 10;
  say("exec-server sandbox: ");
  say(what);
  say(name);
  say(error == (word)-ENOENT    ? ": No such file or directory (os error "
      : error == (word)-EACCES  ? ": Permission denied (os error "
      : error == (word)-ENOTDIR ? ": Not a directory (os error "
                                : ": failed (os error ");
  say(digits + at);
  say(")\n");
  call(NR_exit_group, CANNOT_RUN, 0, 0);
  for (;;) {
  }
}

static int failed(word result) { return result > (word)-MAX_ERRNO - 1; }

static word number(const char **text) {
  word value = 0;
  while (**text >= '0' && **text <= '9') value = value * 10 + (word)(*(*text)++ - '0');
  return value;
}

/* Sends listeners on 127.0.0.1 to the server, which accepts on them from outside. */
static void pass_listeners(word socket, const char *ports) {
  struct { unsigned short family, port; unsigned int address; char zero[8]; } address = { AF_INET, 0, 0x0100007f, { 0 } };
  struct { word length; int level, type; int descriptors[MAX_LISTENERS]; } control;
  char byte = 0;
  struct { void *base; word length; } data = { &byte, 1 };
  struct { void *name; word name_length; void *data; word count; void *control; word control_length; word flags; } message;
  word count = 0;
  while (*ports && count < MAX_LISTENERS) {
    word port = number(&ports);
    if (*ports == ',') ports++;
    word listener = call(NR_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.port = (unsigned short)(port >> 8 | port << 8);
    word result = failed(listener) ? listener : call(NR_bind, listener, (word)&address, sizeof address);
    if (!failed(result)) result = call(NR_listen, listener, BACKLOG, 0);
    if (failed(result)) fail("cannot listen for the proxy", "", result);
    control.descriptors[count++] = (int)listener;
  }
  control.length = 16 + count * sizeof(int);
  control.level = SOL_SOCKET;
  control.type = SCM_RIGHTS;
  message.name = 0;
  message.name_length = 0;
  message.data = &data;
  message.count = 1;
  message.control = &control;
  message.control_length = control.length;
  message.flags = 0;
  word result = call(NR_sendmsg, socket, (word)&message, 0);
  if (failed(result)) fail("cannot pass the proxy's listeners", "", result);
}

/*
 * Abstract sockets have no path that could be hidden, and belong to the network, which may be shared with the machine.
 * Kernels from 6.12 on can keep a process from connecting to those that were made outside.
 */
static void leave_abstract_sockets(void) {
  struct { word files, network, scoped; } rules = { 0, 0, LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET };
  word fd = call(NR_landlock_create_ruleset, (word)&rules, sizeof rules, 0);
  if (!failed(fd)) call(NR_landlock_restrict_self, fd, 0, 0);
}

static void close_descriptors(void) {
  if (!failed(call(NR_close_range, 3, ~0u, 0))) return;
  for (word fd = 3; fd < 1024; fd++) call(NR_close, fd, 0, 0);
}

static int starts_with(const char *text, const char *prefix) {
  while (*prefix)
    if (*text++ != *prefix++) return 0;
  return 1;
}

static void *map(word bytes, word flags, word fd) {
  word address = call6(NR_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | flags, fd, 0);
  if (failed(address)) fail("cannot prepare the program", "", address);
  return (void *)address;
}

static void *memory(word bytes) { return map(bytes, MAP_ANONYMOUS | MAP_NORESERVE, ~0ul); }

struct mount { word id, parent; const char *point; int is_writable, is_fuse; };

static int is_same(const char *one, const char *other) { return starts_with(one, other) && !one[length(other)]; }

/* Whether a path is another one, or below it. */
static int is_within(const char *path, const char *other) {
  word size = length(other);
  if (size == 1) return 1;
  return starts_with(path, other) && (path[size] == '/' || !path[size]);
}

/* The next word of a line, which becomes a text of its own. */
static char *field(char **at) {
  char *begin = *at;
  while (**at && **at != ' ' && **at != '\n') (*at)++;
  if (**at == ' ') *(*at)++ = 0;
  return begin;
}

/* All mounts. The list ends with one that has no point. */
static struct mount *read_mounts(void) {
  static const char path[] = "/proc/self/mountinfo";
  char *text = memory(MAX_MOUNTINFO);
  struct mount *mounts = memory((MAX_MOUNTS + 1) * sizeof *mounts), *next = mounts;
  word fd = call(NR_openat, (word)AT_FDCWD, (word)path, O_CLOEXEC), size = 0, count;
  if (failed(fd)) fail("cannot read ", path, fd);
  while ((count = call(NR_read, fd, (word)(text + size), MAX_MOUNTINFO - 1 - size)) != 0) {
    if (failed(count)) fail("cannot read ", path, count);
    size += count;
  }
  call(NR_close, fd, 0, 0);
  if (size == MAX_MOUNTINFO - 1) fail("too many mounts in ", path, (word)-ENOMEM);
  for (char *at = text; *at && next < mounts + MAX_MOUNTS; next++) {
    const char *id = field(&at), *parent = field(&at);
    next->id = number(&id);
    next->parent = number(&parent);
    field(&at);
    field(&at);
    next->point = field(&at);
    next->is_writable = starts_with(field(&at), "rw");
    /* Behind a number of fields that varies. */
    while (*at && *at != '\n' && !is_same(field(&at), "-")) {
    }
    next->is_fuse = starts_with(at, "fuse");
    while (*at && *at != '\n') at++;
    if (*at) *at++ = 0;
  }
  if (next == mounts + MAX_MOUNTS) fail("too many mounts in ", path, (word)-ENOMEM);
  return mounts;
}

/* What is mounted over the whole of another mount. */
static const struct mount *cover_of(const struct mount *mounts, const struct mount *under) {
  for (const struct mount *one = mounts; one->point; one++)
    if (one->parent == under->id && one != under && is_same(one->point, under->point)) return one;
  return 0;
}

/* Whether a path can lead there: neither it nor what it is mounted on is covered by something else. */
static int is_reachable(const struct mount *mounts, const struct mount *one) {
  if (cover_of(mounts, one)) return 0;
  for (word depth = 0; depth < MAX_MOUNTS; depth++) {
    const struct mount *below = mounts;
    while (below->point && below->id != one->parent) below++;
    if (!below->point || below == one) return 1;
    const struct mount *cover = cover_of(mounts, below);
    if (cover && cover != one) return 0;
    one = below;
  }
  return 0;
}

/* Nobody but the user who mounted it can open anything there, and so it may stay writable. */
static int is_closed(const struct mount *one) {
  return one->is_fuse && call(NR_faccessat, (word)AT_FDCWD, (word)one->point, R_OK) == (word)-EACCES;
}

/*
 * Bubblewrap mounts by path, and something with access to a directory on the way can exchange it for a link at that
 * moment. So what is mounted is compared with what must be: everything in its place, and nothing else writable.
 */
static void check_mounts(char *expected, word bytes) {
  static const char changed[] = "a directory was replaced, or something mounted, while the sandbox was prepared: ";
  struct mount *mounts = read_mounts();
  for (const struct mount *one = mounts; one->point; one++) {
    int is_permitted = !one->is_writable || is_within(one->point, "/dev") || is_within(one->point, "/proc");
    if (!is_reachable(mounts, one)) continue;
    for (char *at = expected; at < expected + bytes; at += length(at) + 1) {
      if ((at[0] | 0x20) == 'w' && is_within(one->point, at + 1)) is_permitted = 1;
      if (is_same(one->point, at + 1) && (at[0] == 'w' || !one->is_writable)) at[0] &= ~0x20;
    }
    if (!is_permitted && !is_closed(one)) fail(changed, one->point, (word)-EACCES);
  }
  for (char *at = expected; at < expected + bytes; at += length(at) + 1)
    if (at[0] & 0x20) fail(changed, at + 1, (word)-ENOENT);
}

/*
 * Where the mounts of the machine are shared, as they are by default with systemd, what is mounted there later would
 * appear here, writable. For any user but root, bubblewrap has given up the right to change mounts by now.
 */
static void leave_peers(void) {
  word result = call6(NR_mount, 0, (word)"/", 0, MS_REC | MS_PRIVATE, 0, 0);
  if (failed(result) && result != (word)-EPERM) fail("cannot make mounts private", "", result);
}

/* This program alone has some, for `leave_peers`. */
static void drop_capabilities(void) {
  struct { unsigned version; int process; } header = { CAPABILITY_VERSION, 0 };
  unsigned sets[6] = { 0 };
  word result = call6(NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0);
  if (!failed(result)) result = call(NR_prctl, PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0);
  if (!failed(result)) result = call(NR_prctl, PR_CAPBSET_DROP, CAP_SETPCAP, 0);
  if (!failed(result)) result = call(NR_capset, (word)&header, (word)sets, 0);
  if (failed(result)) fail("cannot drop capabilities", "", result);
}

/* The entries lie in the file one after another; the kernel wants a list of them. */
static char **environment(char *text, word bytes) {
  word count = 0;
  for (word at = 0; at < bytes; at++) count += text[at] == 0;
  char **list = memory((count + 1) * sizeof(char *));
  for (word at = 0, entry = 0; entry < count; entry++) {
    list[entry] = text + at;
    while (text[at++]) {
    }
  }
  return list;
}

static const char *search_path(char **env) {
  for (; *env; env++)
    if (starts_with(*env, "PATH=")) return *env + 5;
  return "/usr/local/bin:/usr/bin:/bin";
}

static void run(const char *program, char **argv, char **env, const char *path) {
  char candidate[4096];
  word error = (word)-ENOENT;
  for (const char *at = program; *at; at++)
    if (*at == '/') fail("cannot run ", program, call(NR_execve, (word)program, (word)argv, (word)env));
  for (const char *directory = path;; ) {
    const char *end = directory;
    while (*end && *end != ':') end++;
    word size = (word)(end - directory), name = length(program);
    if (size + name + 2 <= sizeof candidate) {
      word at = 0;
      for (word i = 0; i < size; i++) candidate[at++] = directory[i];
      if (size > 0) candidate[at++] = '/';
      for (word i = 0; i <= name; i++) candidate[at++] = program[i];
      word result = call(NR_execve, (word)candidate, (word)argv, (word)env);
      if (result == (word)-EACCES) error = result;
      else if (result != (word)-ENOENT && result != (word)-ENOTDIR) fail("cannot run ", program, result);
    }
    if (!*end) break;
    directory = end + 1;
  }
  fail("cannot run ", program, error);
}

__attribute__((used)) void start(word *stack) {
  word argc = stack[0];
  char **argv = (char **)(stack + 1);
  if (argc < 9) call(NR_exit_group, CANNOT_RUN, 0, 0);
  /* The program leads a session, as outside: signals reach its group, and no other. */
  call(NR_setsid, 0, 0, 0);
  if (argv[1][0] == 't') {
    word result = call(NR_ioctl, 0, TIOCSCTTY, 0);
    if (failed(result)) fail("cannot take the terminal", "", result);
  }
  const char *socket = argv[2], *file = argv[4], *sizes[] = { argv[5], argv[6] };
  word mounts = number(&sizes[0]), bytes = number(&sizes[1]);
  char *lists = map(mounts + bytes + 1, 0, number(&file));
  leave_peers();
  check_mounts(lists, mounts);
  drop_capabilities();
  if (*socket != '-') pass_listeners(number(&socket), argv[3]);
  char **env = environment(lists + mounts, bytes);
  leave_abstract_sockets();
  close_descriptors();
  run(argv[7], argv + 8, env, search_path(env));
}
