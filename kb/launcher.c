/* `kb`: hands a reading command to the daemon and copies its answer back, or becomes Python.
 *
 * It knows nothing of the commands but which verbs may be forwarded. Whatever goes wrong before the whole answer is here (no
 * daemon, one that declines, hangs or talks nonsense), it executes `python -I -m kb` with the same arguments; nothing has been
 * printed by then. kb/protocol.py describes what is said over the socket; kb/launch.py is the same program in Python.
 *
 * Up to the answer it does without libc (kb/bare.h). Memory is not given back and nothing is closed: the process ends, or becomes
 * another one, within a millisecond.
 */
#define _GNU_SOURCE /* struct ucred, O_PATH */

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/un.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include "bare.h"

#ifndef KB_VERSION
#error "which version is this? -DKB_VERSION='\"0.1.0\"', as hatch_build.py does"
#endif
#ifndef TCGETS
#define TCGETS TIOCGETA
#endif

enum { SILENCE_S = 5 }; /* a daemon that is silent for so long is hung */
enum { OUT = 1, ERR = 2, EXIT = 3, DECLINED = 4 };
enum { HEADER_SIZE = 5, USUAL_REQUEST = 1 << 16, USUAL_REPLY = 1 << 20 };

static const char *const forwarded_verbs[] = {"search", "get", "list", "show", NULL};
static const char *const off[] = {"off", "false", "0", "no", NULL};
static const char *const forwarded_variables[] = {
    "KB_", "HOME=", "LANG=", "LC_ALL=", "LC_CTYPE=", "TERM=", "COLUMNS=", "LINES=", "NO_COLOR=", "FORCE_COLOR=", "TZ=", NULL};

/* What standard output said when it took no more of the answer, for main() to tell. */
static int refused_with;

/* One answer: its frames as they came, headers included. */
struct reply {
    unsigned char *bytes;
    size_t size, room;
};

/* Where strings are put, or, where `into` is NULL, only counted. */
struct sink {
    char *into;
    size_t size;
};

static size_t length(const char *string)
{
    size_t size = 0;
    while (string[size] != '\0')
        size++;
    return size;
}

static void copy(void *into, const void *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((char *)into)[i] = ((const char *)from)[i];
}

/* Whether the word begins as one of these; in any case, and to its end, if so wanted. */
static bool is_among(const char *const *beginnings, const char *word, bool whole, bool any_case)
{
    for (; *beginnings != NULL; beginnings++) {
        const char *left = *beginnings, *right = word;
        while (*left != '\0' && (*left == *right || (any_case && *right >= 'A' && *right <= 'Z' && *left == *right + ('a' - 'A'))))
            left++, right++;
        if (*left == '\0' && (!whole || *right == '\0'))
            return true;
    }
    return false;
}

/* The value of an environment variable, whose name is given with its "="; NULL where it is not there. */
static const char *variable(char **variables, const char *name)
{
    const char *const names[] = {name, NULL};
    for (; *variables != NULL; variables++)
        if (is_among(names, *variables, false, false))
            return *variables + length(name);
    return NULL;
}

static uint32_t little_endian(const unsigned char *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void put(struct sink *sink, const char *string, size_t size)
{
    if (sink->into != NULL)
        copy(sink->into + sink->size, string, size);
    sink->size += size;
}

static void put_string(struct sink *sink, const char *string)
{
    put(sink, string, length(string) + 1);
}

static void put_number(struct sink *sink, unsigned number)
{
    char digits[11], *first = digits + sizeof digits - 1;
    for (*first = '\0'; number > 0 || *first == '\0'; number /= 10)
        *--first = (char)('0' + number % 10);
    put_string(sink, first);
}

/* Whether this call may be answered by the daemon. The socket must not get the number of a standard stream that is closed. */
static bool may_be_forwarded(int argc, char **argv, char **variables)
{
    const char *daemon = variable(variables, "KB_DAEMON=");
    for (int stream = 0; stream <= 2; stream++)
        if (CALL3(fcntl, stream, F_GETFD, 0) < 0)
            return false;
    return argc > 1 && is_among(forwarded_verbs, argv[1], true, false) && !(daemon != NULL && is_among(off, daemon, true, true));
}

/* The .kb of this folder, or of the nearest one above it, that is ours (kb/whichstore.py); NULL where there is none. */
static const char *nearest_store(const char *working_folder)
{
    static const char name[] = "/.kb";
    static char path[PATH_MAX + sizeof name];
    struct stat status;
    for (size_t size = length(working_folder);;) {
        struct sink sink = {path, 0};
        put(&sink, working_folder, size > 1 ? size : 0); /* not //.kb */
        put_string(&sink, name);
        if (STATUS(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == USER())
            return path;
        if (size <= 1)
            return NULL;
        while (working_folder[--size] != '/')
            ;
        size = size > 0 ? size : 1;
    }
}

/* Where the socket is; false where finding the data directory takes more than HOME (as `~someone` does), or room for it. */
static bool run_folder(char **variables, const char *working_folder, char *path, size_t room)
{
    const char *folder = variable(variables, "KB_DATA_DIR="), *home = "";
    struct sink sink = {path, 0};
    if (folder == NULL || *folder == '\0')
        folder = nearest_store(working_folder);
    if (folder == NULL)
        folder = "~/.kb";
    if (*folder == '~') {
        folder++;
        home = variable(variables, "HOME=");
        if (home == NULL || (*folder != '/' && *folder != '\0'))
            return false;
    }
    if (length(home) + length(folder) + sizeof "/run" > room)
        return false;
    put(&sink, home, length(home));
    put(&sink, folder, length(folder));
    put_string(&sink, "/run");
    return true;
}

static bool same_user(int daemon)
{
#ifdef __linux__
    struct ucred peer;
    socklen_t size = sizeof peer;
    return CALL5(getsockopt, daemon, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == USER();
#else
    uid_t uid;
    gid_t gid;
    return getpeereid(daemon, &uid, &gid) == 0 && uid == USER();
#endif
}

/* The socket in this folder as an address. A path too long for one goes through the open folder, which only Linux can. */
static bool address_in(const char *folder, struct sockaddr_un *address)
{
    static const char name[] = "/daemon.sock";
    struct sink sink = {address->sun_path, 0};
    address->sun_family = AF_UNIX;
    if (length(folder) + sizeof name <= sizeof address->sun_path) {
        put(&sink, folder, length(folder));
    } else {
#ifdef __linux__
        long opened = CALL3(openat, AT_FDCWD, folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (opened < 0)
            return false;
        put(&sink, "/proc/self/fd/", 14);
        put_number(&sink, (unsigned)opened);
        sink.size--; /* its NUL */
#else
        return false;
#endif
    }
    put_string(&sink, name);
    return true;
}

/* A connection to our daemon that never blocks for longer than SILENCE_S, or -1. */
static int connect_to_daemon(const char *folder)
{
    static struct sockaddr_un address;
    const struct timeval silence = {.tv_sec = SILENCE_S};
    if (!address_in(folder, &address))
        return -1;
    int daemon = (int)CALL3(socket, AF_UNIX, SOCK_STREAM, 0);
    bool connected = daemon >= 0 && CALL3(fcntl, daemon, F_SETFD, FD_CLOEXEC) == 0 &&
                     CALL5(setsockopt, daemon, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence) == 0 &&
                     CALL5(setsockopt, daemon, SOL_SOCKET, SO_SNDTIMEO, &silence, sizeof silence) == 0 &&
                     CALL3(connect, daemon, &address, sizeof address) == 0 && same_user(daemon);
    return connected ? daemon : -1;
}

static bool is_terminal(int stream)
{
    char state[256];
    return CALL3(ioctl, stream, TCGETS, state) == 0;
}

static void put_request(struct sink *sink, int argc, char **argv, char **variables, const char *folder)
{
    struct winsize window = {0, 0, 0, 0};
    char terminals[] = "000";
    for (int stream = 0; stream <= 2; stream++)
        terminals[stream] += is_terminal(stream);
    CALL3(ioctl, STDOUT_FILENO, TIOCGWINSZ, &window);
    put(sink, "size", 4); /* not known yet */
    put_string(sink, KB_VERSION);
    put_string(sink, "run");
    put_string(sink, terminals);
    put_number(sink, window.ws_col);
    put_string(sink, folder);
    put_number(sink, (unsigned)argc - 1);
    for (int i = 1; i < argc; i++)
        put_string(sink, argv[i]);
    for (; *variables != NULL; variables++)
        if (is_among(forwarded_variables, *variables, false, false))
            put_string(sink, *variables);
}

/* The request of this process, its length in front; NULL without memory. */
static char *encode_request(int argc, char **argv, char **variables, const char *folder, size_t *size)
{
    static char usual[USUAL_REQUEST];
    struct sink counted = {NULL, 0}, sink = {usual, 0};
    put_request(&counted, argc, argv, variables, folder);
    if (counted.size > sizeof usual && (sink.into = memory(counted.size)) == NULL)
        return NULL;
    put_request(&sink, argc, argv, variables, folder);
    for (int i = 0; i < 4; i++)
        sink.into[i] = (char)((sink.size - 4) >> 8 * i);
    *size = sink.size;
    return sink.into;
}

static bool send_all(int daemon, const char *bytes, size_t size)
{
    while (size > 0) {
        long sent = CALL3(write, daemon, bytes, size);
        if (sent < 0 && sent != -EINTR)
            return false;
        if (sent > 0)
            bytes += sent, size -= (size_t)sent;
    }
    return true;
}

/* At least so many bytes in all. */
static bool receive(int daemon, struct reply *reply, size_t wanted)
{
    if (wanted > reply->room) {
        unsigned char *larger = memory(wanted + USUAL_REPLY);
        if (larger == NULL)
            return false;
        copy(larger, reply->bytes, reply->size);
        reply->bytes = larger;
        reply->room = wanted + USUAL_REPLY;
    }
    while (reply->size < wanted) {
        long got = CALL3(read, daemon, reply->bytes + reply->size, reply->room - reply->size);
        if (got == 0 || (got < 0 && got != -EINTR))
            return false;
        if (got > 0)
            reply->size += (size_t)got;
    }
    return true;
}

/* All frames, up to an exit code. */
static bool receive_reply(int daemon, struct reply *reply)
{
    for (size_t at = 0;;) {
        if (!receive(daemon, reply, at + HEADER_SIZE))
            return false;
        int kind = reply->bytes[at];
        size_t size = little_endian(reply->bytes + at + 1);
        if (kind != OUT && kind != ERR && !(kind == EXIT && size == 1)) /* DECLINED, or nonsense */
            return false;
        at += HEADER_SIZE + size;
        if (!receive(daemon, reply, at))
            return false;
        if (kind == EXIT)
            return true;
    }
}

/* 0, or why the stream takes no more. */
static int print(int stream, const unsigned char *bytes, size_t size)
{
    struct pollfd room = {.fd = stream, .events = POLLOUT};
    while (size > 0) {
        long written = CALL3(write, stream, bytes, size);
        if (written == -EAGAIN) /* whoever opened the stream made it non-blocking */
            WAIT_FOR_ROOM(&room);
        else if (written < 0 && written != -EINTR)
            return (int)-written;
        if (written > 0)
            bytes += written, size -= (size_t)written;
    }
    return 0;
}

/* Print the answer and end; returns only where standard output takes no more of it, for another reason than that its reader left. */
static void deliver(const struct reply *reply)
{
    const unsigned char *frame = reply->bytes;
    while (*frame != EXIT) {
        size_t size = little_endian(frame + 1);
        int refused = print(*frame, frame + HEADER_SIZE, size);
        if (refused == EPIPE && *frame == OUT)
            END(0);
        if (refused != 0 && *frame == OUT) {
            refused_with = refused;
            return;
        }
        frame += HEADER_SIZE + size;
    }
    END(frame[HEADER_SIZE]);
}

/* Answer by the daemon and end; returns where that cannot be. */
static void early(int argc, char **argv, char **variables)
{
    static unsigned char usual[USUAL_REPLY];
    static char working_folder[PATH_MAX], run[2 * PATH_MAX];
    struct reply reply = {usual, 0, sizeof usual};
    size_t size;
    if (!may_be_forwarded(argc, argv, variables) || !FOLDER(working_folder, sizeof working_folder) || *working_folder != '/' ||
        !run_folder(variables, working_folder, run, sizeof run))
        return;
    char *request = encode_request(argc, argv, variables, working_folder, &size);
    int daemon = request != NULL ? connect_to_daemon(run) : -1;
    if (daemon < 0)
        return;
    hold_back_closed_pipes(true); /* a closed stdout or daemon is an answer of write() */
    if (send_all(daemon, request, size) && receive_reply(daemon, &reply))
        deliver(&reply);
    hold_back_closed_pipes(false);
}

/* The program of this name beside this one, links to this one resolved. */
static char *beside(const char *name)
{
    static char path[2 * PATH_MAX];
    char self[PATH_MAX];
#ifdef __APPLE__
    char unresolved[PATH_MAX];
    uint32_t room = sizeof unresolved;
    if (_NSGetExecutablePath(unresolved, &room) != 0 || realpath(unresolved, self) == NULL)
        return "";
#else
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size < 0)
        return "";
    self[size] = '\0';
#endif
    snprintf(path, sizeof path, "%.*s/%s", (int)(strrchr(self, '/') - self), self, name);
    return path;
}

/* Returns only where there is no Python. The one beside this program has kb; one on PATH may have it in the user's own site. */
static void become_python(int argc, char **argv)
{
    char **command = calloc((size_t)argc + 4, sizeof *command);
    if (command == NULL)
        return;
    command[1] = "-I", command[2] = "-m", command[3] = "kb";
    for (int i = 1; i < argc; i++)
        command[3 + i] = argv[i];
    execv(command[0] = beside("python3"), command);
    execv(command[0] = beside("python"), command);
    command[1] = "-EP";
    execvp(command[0] = "python3", command);
}

int main(int argc, char **argv, char **variables)
{
#ifndef KB_BARE
    early(argc, argv, variables);
#endif
    (void)variables;
    if (refused_with != 0) { /* told as kb/cli/door.py does */
        fprintf(stderr, "kb: [Errno %d] %s (check the path, its permissions and the free space)\n", refused_with, strerror(refused_with));
        return 1;
    }
    become_python(argc, argv);
    fprintf(stderr, "kb: no python3 beside this program or on PATH (%s); install kb-search again\n", strerror(errno));
    return 127;
}
