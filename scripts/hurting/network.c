/* Loaded into every process of a run (LD_PRELOAD): what would leave this machine is refused, and noted in the file NOTES, whose
   path is compiled in: a process that is started with variables of its own notes there too.

   Loopback and sockets of files pass. Names are refused before anybody is asked for them, but for those that stand for nowhere
   (RFC 2606: .invalid, .test, .example), which tests ask for on purpose; they do not resolve either. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void note(const char *call, const char *where) {
    char line[512], program[128] = "?";
    int comm = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC), file;
    if (comm >= 0) {
        ssize_t got = read(comm, program, sizeof program - 1);
        program[got < 0 ? 0 : got] = 0;
        for (ssize_t i = 0; i + 1 < got; i++)
            if (!program[i] || program[i] == '\n') program[i] = ' ';
        close(comm);
    }
    if ((file = open(NOTES, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) < 0) return;
    int length = snprintf(line, sizeof line, "%s %s: %s\n", call, where, program);
    if (write(file, line, length < (int)sizeof line ? length : (int)sizeof line - 1) < 0) { /* nothing can be done */ }
    close(file);
}

static int leaves(const char *call, const struct sockaddr *address) {
    char where[INET6_ADDRSTRLEN] = "";
    if (!address) return 0;
    if (address->sa_family == AF_INET) {
        const struct in_addr *at = &((const struct sockaddr_in *)address)->sin_addr;
        unsigned long number = ntohl(at->s_addr);
        if (number >> 24 == 127 || number == 0) return 0;
        inet_ntop(AF_INET, at, where, sizeof where);
    } else if (address->sa_family == AF_INET6) {
        const struct in6_addr *at = &((const struct sockaddr_in6 *)address)->sin6_addr;
        if (IN6_IS_ADDR_LOOPBACK(at) || IN6_IS_ADDR_UNSPECIFIED(at) || (IN6_IS_ADDR_V4MAPPED(at) && at->s6_addr[12] == 127)) return 0;
        inet_ntop(AF_INET6, at, where, sizeof where);
    } else
        return 0;
    note(call, where);
    errno = ENETUNREACH;
    return 1;
}

int connect(int fd, const struct sockaddr *address, socklen_t size) {
    static int (*real)(int, const struct sockaddr *, socklen_t);
    if (leaves("connect", address)) return -1;
    if (!real) real = dlsym(RTLD_NEXT, "connect");
    return real(fd, address, size);
}

ssize_t sendto(int fd, const void *data, size_t length, int flags, const struct sockaddr *address, socklen_t size) {
    static ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
    if (leaves("sendto", address)) return -1;
    if (!real) real = dlsym(RTLD_NEXT, "sendto");
    return real(fd, data, length, flags, address, size);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    static ssize_t (*real)(int, const struct msghdr *, int);
    if (message && leaves("sendmsg", message->msg_name)) return -1;
    if (!real) real = dlsym(RTLD_NEXT, "sendmsg");
    return real(fd, message, flags);
}

static int stands_for_nowhere(const char *name) {
    static const char *const ends[] = {".invalid", ".test", ".example", "invalid", "test"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i]);
        if (length >= end && !strcmp(name + length - end, ends[i])) return 1;
    }
    return 0;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    struct in6_addr number;
    int is_number = !name || inet_pton(AF_INET, name, &number) == 1 || inet_pton(AF_INET6, name, &number) == 1;
    char own[256] = "";
    gethostname(own, sizeof own - 1);
    if (!is_number && strcmp(name, "localhost") && *name && strcmp(name, own)) {
        if (!stands_for_nowhere(name)) note("getaddrinfo", name);
        return EAI_NONAME;
    }
    if (!real) real = dlsym(RTLD_NEXT, "getaddrinfo");
    return real(name, service, hints, found);
}
