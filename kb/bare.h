/* System calls, each giving a number below zero, -errno, where it fails: without libc where KB_BARE is defined, through it elsewhere.
 *
 * A static program of glibc starts in 1.0 ms where a bare one takes 0.4: glibc asks the processor what it can, again and again, and
 * in a virtual machine each answer comes from the hypervisor. So a bare program begins here, at kb_start. What `early` can do by
 * itself it does, and ends the process; where it returns, libc and main() begin as if nothing had been.
 *
 * Before libc there is no errno and no stack protector, and nothing may become a call of memcpy() or memset(): hatch_build.py
 * says so to the compiler. Linux on x86-64 and arm64.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

static void early(int argc, char **argv, char **variables);

#ifdef KB_BARE
#include <sys/syscall.h>

#if defined(__x86_64__)
__asm__(".globl kb_start\n"
        "kb_start:\n"
        "    push %rdx\n" /* rdx and rsp are as _start expects them, afterwards */
        "    sub $8, %rsp\n"
        "    lea 16(%rsp), %rdi\n"
        "    call kb_begin\n"
        "    add $8, %rsp\n"
        "    pop %rdx\n"
        "    jmp _start\n");

static long kernel(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return number;
}
#elif defined(__aarch64__)
__asm__(".globl kb_start\n"
        "kb_start:\n"
        "    mov x19, x0\n" /* x0 and sp are as _start expects them, afterwards */
        "    mov x0, sp\n"
        "    bl kb_begin\n"
        "    mov x0, x19\n"
        "    b _start\n");

static long kernel(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                  x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}
#endif

/* The stack as the kernel made it: argc, argv, NULL, the environment, NULL. */
__attribute__((used)) void kb_begin(long *stack)
{
    char **argv = (char **)(stack + 1);
    early((int)stack[0], argv, argv + stack[0] + 1);
}

#define CALL3(name, a, b, c) kernel(SYS_##name, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL5(name, a, b, c, d, e) kernel(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define END(code) kernel(SYS_exit_group, code, 0, 0, 0, 0, 0)
#define USER() (uid_t) kernel(SYS_geteuid, 0, 0, 0, 0, 0, 0)
#define STATUS(path, into) CALL5(newfstatat, AT_FDCWD, path, into, 0, 0)
#define FOLDER(into, room) (CALL3(getcwd, into, room, 0) > 0)
#define WAIT_FOR_ROOM(room) CALL5(ppoll, room, 1, NULL, NULL, 0)

/* NULL where there is none. */
static void *memory(size_t size)
{
    long at = kernel(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at < 0 && at > -4096 ? NULL : (void *)at;
}

/* While held back, a write to a pipe that nobody reads fails with EPIPE, and nothing else happens. */
static void hold_back_closed_pipes(bool held_back)
{
    struct action {
        void (*handler)(int);
        unsigned long flags, restorer, mask;
    };
    static struct action before;
    const struct action ignore = {SIG_IGN, 0, 0, 0};
    if (held_back)
        CALL5(rt_sigaction, SIGPIPE, &ignore, &before, sizeof ignore.mask, 0);
    else
        CALL5(rt_sigaction, SIGPIPE, &before, NULL, sizeof ignore.mask, 0);
}
#else
static long or_errno(long answer)
{
    return answer < 0 ? -errno : answer;
}

#define CALL3(name, a, b, c) or_errno(name(a, b, c))
#define CALL5(name, a, b, c, d, e) or_errno(name(a, b, c, d, e))
#define END(code) _exit(code)
#define USER() geteuid()
#define STATUS(path, into) or_errno(stat(path, into))
#define FOLDER(into, room) (getcwd(into, room) != NULL)
#define WAIT_FOR_ROOM(room) poll(room, 1, -1)
#define memory malloc

static void hold_back_closed_pipes(bool held_back)
{
    static void (*before)(int);
    if (held_back)
        before = signal(SIGPIPE, SIG_IGN);
    else
        signal(SIGPIPE, before);
}
#endif
