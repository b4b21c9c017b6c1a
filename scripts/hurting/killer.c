/* Counts the system calls of this process that touch files below one folder, and at the n-th kills the process, or makes the call fail.

A seccomp filter traps the calls (SIGSYS); the handler looks at each and makes it itself. Unlike a preloaded library this misses none:
Rust's `rustix` makes its calls without libc, and so does what is linked statically. Loaded by ctypes into a process that may die
(`hurting/syscalls.py`); a filter cannot be taken off again, and what this process starts by exec would die of it.

With a journal, what happens to names and each file's content at each sync are written down, from which `hurting/power.py` makes the disk
as it may be after a power loss.

Linux on x86-64 alone. Stores into mapped memory are no calls: of these only msync is seen. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/limits.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#if !defined(__x86_64__) || !defined(__linux__)
#error "needs Linux on x86-64"
#endif

enum { WRITE = 1, SYNC = 2, NAME = 4, SIZE = 8, LOCK = 16, READ = 32, OPEN = 64 }; /* kinds; as in syscalls.py */
enum { COUNT, KILL, TEAR, FAIL, FAIL_ON, SHRINK };                                  /* what to do; as in syscalls.py */

static const struct {
    int number, kind;
} TRAPPED[] = {
    {SYS_write, WRITE}, {SYS_pwrite64, WRITE}, {SYS_writev, WRITE}, {SYS_pwritev, WRITE}, {SYS_pwritev2, WRITE},
    {SYS_copy_file_range, WRITE}, {SYS_sendfile, WRITE}, {SYS_fsync, SYNC}, {SYS_fdatasync, SYNC}, {SYS_msync, SYNC},
    {SYS_rename, NAME}, {SYS_renameat, NAME}, {SYS_renameat2, NAME}, {SYS_unlink, NAME}, {SYS_unlinkat, NAME},
    {SYS_rmdir, NAME}, {SYS_mkdir, NAME}, {SYS_mkdirat, NAME}, {SYS_open, OPEN}, {SYS_openat, OPEN}, {SYS_creat, OPEN},
    {SYS_ftruncate, SIZE}, {SYS_truncate, SIZE}, {SYS_fallocate, SIZE}, {SYS_flock, LOCK}, {SYS_fcntl, LOCK},
    {SYS_read, READ}, {SYS_pread64, READ},
};
#define TRAPPED_COUNT ((int)(sizeof TRAPPED / sizeof *TRAPPED))

static char root[PATH_MAX];
static size_t root_length;
static int action, failure, kinds, journal_folder = -1, journal = -1;
static long chosen, shrunk_to;
static atomic_long seen, contents;
static atomic_int has_struck;

extern char own_begin[], own_end[];

/* The one place from which calls are let through. */
__attribute__((noinline, naked, used)) static long call(long number __attribute__((unused)), ...) {
    __asm__("mov %rdi, %rax\n mov %rsi, %rdi\n mov %rdx, %rsi\n mov %rcx, %rdx\n mov %r8, %r10\n mov %r9, %r8\n"
            "mov 8(%rsp), %r9\n .globl own_begin\n own_begin: syscall\n .globl own_end\n own_end: ret\n");
}
#define CALL(number, ...) call(number, __VA_ARGS__)

static int is_below(const char *path) {
    return !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

static int path_of(int descriptor, char *path) {
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    long length = CALL(SYS_readlink, (long)link, (long)path, PATH_MAX - 1L, 0L, 0L, 0L);
    path[length > 0 ? length : 0] = 0;
    return length > 0;
}

static void resolve(long folder, const char *given, char *path) {
    char base[PATH_MAX] = "";
    if (given[0] != '/' && (int)folder != AT_FDCWD && path_of((int)folder, base))
        snprintf(path, PATH_MAX, "%s/%s", base, given);
    else
        snprintf(path, PATH_MAX, "%s", given); /* relative to the working directory: never below the root */
}

static void put(const char *line) { CALL(SYS_write, (long)journal, (long)line, (long)strlen(line), 0L, 0L, 0L); }

static void note(char what, const char *path, const char *second) {
    char line[2 * PATH_MAX + 32];
    if (journal < 0)
        return;
    snprintf(line, sizeof line, "%c\t%s\t%s\n", what, path, second);
    put(line);
}

/* Copies what the file holds now to journal/<number>, and says so. */
static void keep_content(const char *path) {
    char name[32], piece[8192];
    if (journal < 0)
        return;
    snprintf(name, sizeof name, "%ld", atomic_fetch_add(&contents, 1));
    long from = CALL(SYS_openat, (long)AT_FDCWD, (long)path, (long)O_RDONLY | O_CLOEXEC, 0L, 0L, 0L);
    if (from < 0)
        return;
    long to = CALL(SYS_openat, (long)journal_folder, (long)name, (long)O_WRONLY | O_CREAT | O_CLOEXEC, 0600L, 0L, 0L);
    long length;
    while ((length = CALL(SYS_read, from, (long)piece, (long)sizeof piece, 0L, 0L, 0L)) > 0)
        CALL(SYS_write, to, (long)piece, length, 0L, 0L, 0L);
    CALL(SYS_close, from, 0L, 0L, 0L, 0L, 0L);
    CALL(SYS_close, to, 0L, 0L, 0L, 0L, 0L);
    note('S', path, name);
}

static void synced(const char *path) {
    struct stat status;
    if (!CALL(SYS_stat, (long)path, (long)&status, 0L, 0L, 0L, 0L) && S_ISDIR(status.st_mode))
        note('D', path, "");
    else
        keep_content(path);
}

/* The file that is mapped at an address. */
static void mapped_at(unsigned long address, char *path) {
    static char maps[1 << 20]; /* a writer is alone when it syncs a mapping */
    long from = CALL(SYS_openat, (long)AT_FDCWD, (long)"/proc/self/maps", (long)O_RDONLY, 0L, 0L, 0L), length = 0, more;
    while (length < (long)sizeof maps - 1 &&
           (more = CALL(SYS_read, from, (long)maps + length, (long)sizeof maps - 1 - length, 0L, 0L, 0L)) > 0)
        length += more;
    CALL(SYS_close, from, 0L, 0L, 0L, 0L, 0L);
    maps[length > 0 ? length : 0] = path[0] = 0;
    for (char *line = strtok(maps, "\n"); line; line = strtok(NULL, "\n")) {
        unsigned long first, end;
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %4095s", &first, &end, path) >= 2 && first <= address && address < end)
            return;
        path[0] = 0;
    }
}

static int opens_to_change(long flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)); }

/* Which kind of call this is, 0 where it is none of ours, and of which file. */
static int look(int number, const greg_t *args, char *path, char *second) {
    int kind = 0;
    for (int i = 0; i < TRAPPED_COUNT; i++)
        if (TRAPPED[i].number == number)
            kind = TRAPPED[i].kind;
    second[0] = path[0] = 0;
    switch (number) {
    case SYS_rename: resolve(AT_FDCWD, (char *)args[0], path), resolve(AT_FDCWD, (char *)args[1], second); break;
    case SYS_renameat: case SYS_renameat2:
        resolve(args[0], (char *)args[1], path), resolve(args[2], (char *)args[3], second); break;
    case SYS_unlink: case SYS_rmdir: case SYS_mkdir: case SYS_creat: case SYS_truncate:
        resolve(AT_FDCWD, (char *)args[0], path); break;
    case SYS_open: resolve(AT_FDCWD, (char *)args[0], path); kind = opens_to_change(args[1]) ? OPEN : 0; break;
    case SYS_openat: resolve(args[0], (char *)args[1], path); kind = opens_to_change(args[2]) ? OPEN : 0; break;
    case SYS_unlinkat: case SYS_mkdirat: resolve(args[0], (char *)args[1], path); break;
    case SYS_msync: mapped_at((unsigned long)args[0], path); break;
    case SYS_copy_file_range: path_of((int)args[2], path); break;
    case SYS_fcntl: kind = args[1] == F_SETLK || args[1] == F_SETLKW ? LOCK : 0; /* fall through */
    default: if (kind) path_of((int)args[0], path);
    }
    int is_shared_memory = !strcmp(path + root_length, "/kb.db-shm") && kind != LOCK;
    return kind && is_below(path) && !is_shared_memory ? kind : 0;
}

static int exists(const char *path) { return !CALL(SYS_access, (long)path, (long)F_OK, 0L, 0L, 0L, 0L); }

static long let_through(int number, const greg_t *a) { return CALL(number, a[0], a[1], a[2], a[3], a[4], a[5]); }

static long done(int number, const greg_t *args, int kind, const char *path, const char *second) {
    int is_new = kind == OPEN && journal >= 0 && !exists(path);
    long result = let_through(number, args);
    if (result < 0)
        return result;
    if (kind == SYNC)
        synced(path);
    else if (number == SYS_mkdir || number == SYS_mkdirat)
        note('M', path, "");
    else if (number == SYS_rename || number == SYS_renameat || number == SYS_renameat2)
        note('R', path, second);
    else if (kind == NAME)
        note('U', path, "");
    else if (is_new && exists(path))
        note('C', path, "");
    return result;
}

static void die(void) {
    CALL(SYS_kill, (long)CALL(SYS_getpid, 0L, 0L, 0L, 0L, 0L, 0L), (long)SIGKILL, 0L, 0L, 0L, 0L);
    for (;;) CALL(SYS_pause, 0L, 0L, 0L, 0L, 0L, 0L);
}

/* A full disk takes nothing new, and lets go of what is there. */
static int may_fail(int number, int kind, const char *path) {
    if (failure != ENOSPC && failure != EDQUOT)
        return 1;
    return number != SYS_unlink && number != SYS_unlinkat && number != SYS_rmdir && !(kind == OPEN && exists(path));
}

static long struck(int number, greg_t *args, int kind, const char *path, const char *second) {
    if (has_struck && (action == KILL || action == TEAR))
        die(); /* another thread is dying */
    int counts = (kind & kinds) && ((action != FAIL && action != FAIL_ON) || may_fail(number, kind, path));
    long turn = counts ? atomic_fetch_add(&seen, 1) + 1 : 0;
    int now = turn && (turn == chosen || (action == FAIL_ON && turn > chosen));
    if (!now || action == COUNT)
        return done(number, args, kind, path, second);
    has_struck = 1;
    if (action == TEAR && (number == SYS_write || number == SYS_pwrite64)) {
        args[2] /= 2;
        let_through(number, args);
    }
    if (action == KILL || action == TEAR)
        die();
    if (action == SHRINK) {
        CALL(SYS_truncate, (long)path, shrunk_to, 0L, 0L, 0L, 0L);
        return done(number, args, kind, path, second);
    }
    return -failure;
}

static void trap(int signal, siginfo_t *info, void *context) {
    (void)signal;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs, args[6] = {
        registers[REG_RDI], registers[REG_RSI], registers[REG_RDX], registers[REG_R10], registers[REG_R8], registers[REG_R9]};
    char path[PATH_MAX], second[PATH_MAX];
    int kind = look(info->si_syscall, args, path, second), before = errno;
    registers[REG_RAX] = kind ? struck(info->si_syscall, args, kind, path, second) : let_through(info->si_syscall, args);
    errno = before;
}

long hurt_seen(void) { return seen; }
int hurt_has_struck(void) { return has_struck; }

/* From now on; `below` is absolute, `at` from 1, `journal_path` an empty folder or "". Returns 0, or -1 where the kernel refuses. */
int hurt_arm(const char *below, int what, long at, int kind_mask, int error, long length, const char *journal_path) {
    snprintf(root, sizeof root, "%s", below);
    root_length = strlen(root);
    action = what, chosen = at, kinds = kind_mask, failure = error, shrunk_to = length;
    if (journal_path[0]) {
        journal_folder = open(journal_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        journal = openat(journal_folder, "journal", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    struct sigaction handler = {.sa_sigaction = trap, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
    sigaction(SIGSYS, &handler, NULL);
    struct sock_filter filter[2 * TRAPPED_COUNT + 8];
    int n = 0;
    uint64_t own = (uint64_t)own_end; /* a call's pointer is to what follows it */
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer));
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)own, 0, 3);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4);
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(own >> 32), 0, 1);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < TRAPPED_COUNT; i++) {
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)TRAPPED[i].number, 0, 1);
        filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    }
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {(unsigned short)n, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}
