/* `kb`: hands a reading command to the daemon and copies its answer back, or becomes Python.
 *
 * It knows nothing of the commands but which verbs may be forwarded. Whatever goes wrong before the whole answer is here (no
 * daemon, one that declines, hangs or talks nonsense), it executes `python -I -m kb` with the same arguments; nothing has been
 * printed by then. kb/protocol.py describes what is said over the socket; kb/launch.py is the same program in Python.
 *
 * Memory is not given back and nothing is closed: the process ends, or becomes another one, within a millisecond.
 */
#define _GNU_SOURCE /* asprintf, struct ucred, O_PATH */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#ifndef KB_VERSION
#error "which version is this? -DKB_VERSION='\"0.1.0\"', as hatch_build.py does"
#endif

enum { SILENCE_S = 5 }; /* a daemon that is silent for so long is hung */
enum { OUT = 1, ERR = 2, EXIT = 3, DECLINED = 4 };

extern char **environ;

static const char *const forwarded_verbs[] = {"search", "get", "list", "show", NULL};
static const char *const off[] = {"off", "false", "0", "no", NULL};
static const char *const forwarded_variables[] = {
    "KB_", "HOME=", "LANG=", "LC_ALL=", "LC_CTYPE=", "TERM=", "COLUMNS=", "LINES=", "NO_COLOR=", "FORCE_COLOR=", "TZ=", NULL};

/* One answer: its frames as they came, headers included. */
struct reply {
    unsigned char *bytes;
    size_t size;
};

static bool is_among(const char *const *words, const char *word, int (*difference)(const char *, const char *))
{
    while (*words != NULL && difference(*words, word) != 0)
        words++;
    return *words != NULL;
}

static int difference_in_beginning(const char *beginning, const char *word)
{
    return strncmp(beginning, word, strlen(beginning));
}

static uint32_t little_endian(const unsigned char *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* Whether this call may be answered by the daemon. The socket must not get the number of a standard stream that is closed. */
static bool may_be_forwarded(char **argv)
{
    const char *daemon = getenv("KB_DAEMON");
    for (int stream = 0; stream <= 2; stream++)
        if (fcntl(stream, F_GETFD) == -1)
            return false;
    return argv[0] != NULL && argv[1] != NULL && is_among(forwarded_verbs, argv[1], strcmp) &&
           !(daemon != NULL && is_among(off, daemon, strcasecmp));
}

/* Where the socket is, or NULL where finding the data directory takes more than HOME (as `~someone` does). */
static char *run_folder(void)
{
    const char *folder = getenv("KB_DATA_DIR"), *home = "";
    char *run;
    if (folder == NULL || *folder == '\0')
        folder = "~/.kb";
    if (*folder == '~') {
        folder++;
        home = getenv("HOME");
        if (home == NULL || (*folder != '/' && *folder != '\0'))
            return NULL;
    }
    return asprintf(&run, "%s%s/run", home, folder) < 0 ? NULL : run;
}

static bool same_user(int daemon)
{
#ifdef __linux__
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(daemon, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
#else
    uid_t uid;
    gid_t gid;
    return getpeereid(daemon, &uid, &gid) == 0 && uid == geteuid();
#endif
}

/* The socket in this folder as an address. A path too long for one goes through the open folder, which only Linux can. */
static struct sockaddr_un address_in(const char *folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t room = sizeof address.sun_path;
    if ((size_t)snprintf(address.sun_path, room, "%s/daemon.sock", folder) >= room) {
#ifdef __linux__
        snprintf(address.sun_path, room, "/proc/self/fd/%d/daemon.sock", open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC));
#else
        address.sun_path[0] = '\0';
#endif
    }
    return address;
}

/* A connection to our daemon that never blocks for longer than SILENCE_S, or -1. */
static int connect_to_daemon(const char *folder)
{
    const struct sockaddr_un address = address_in(folder);
    const struct timeval silence = {.tv_sec = SILENCE_S};
    int daemon = socket(AF_UNIX, SOCK_STREAM, 0);
    bool connected = fcntl(daemon, F_SETFD, FD_CLOEXEC) == 0 &&
                     setsockopt(daemon, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence) == 0 &&
                     setsockopt(daemon, SOL_SOCKET, SO_SNDTIMEO, &silence, sizeof silence) == 0 &&
                     connect(daemon, (const struct sockaddr *)&address, sizeof address) == 0 && same_user(daemon);
    return connected ? daemon : -1;
}

static void put(FILE *into, const char *string)
{
    fwrite(string, 1, strlen(string) + 1, into);
}

/* The request of this process, its length in front; NULL without a working directory or memory. */
static char *encode_request(int argc, char **argv, size_t *size)
{
    struct winsize window = {0};
    char *request, *folder = getcwd(NULL, 0); /* allocated, on both systems */
    FILE *into = open_memstream(&request, size);
    if (folder == NULL || into == NULL)
        return NULL;
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &window);
    fwrite("size", 1, 4, into); /* not known yet */
    put(into, KB_VERSION);
    put(into, "run");
    fprintf(into, "%d%d%d%c%d%c", isatty(0), isatty(1), isatty(2), '\0', window.ws_col, '\0');
    put(into, folder);
    fprintf(into, "%d%c", argc - 1, '\0');
    for (int i = 1; i < argc; i++)
        put(into, argv[i]);
    for (char **variable = environ; *variable != NULL; variable++)
        if (is_among(forwarded_variables, *variable, difference_in_beginning))
            put(into, *variable);
    if (fclose(into) != 0)
        return NULL;
    for (int i = 0; i < 4; i++)
        request[i] = (char)((*size - 4) >> 8 * i);
    return request;
}

static bool send_all(int daemon, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = write(daemon, bytes, size);
        if (sent < 0 && errno != EINTR)
            return false;
        if (sent > 0)
            bytes += sent, size -= (size_t)sent;
    }
    return true;
}

/* Exactly so many bytes, behind those that are there. */
static bool receive(int daemon, struct reply *reply, size_t size)
{
    unsigned char *longer = realloc(reply->bytes, reply->size + size);
    if (longer == NULL)
        return false;
    reply->bytes = longer;
    while (size > 0) {
        ssize_t got = read(daemon, reply->bytes + reply->size, size);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        if (got > 0)
            reply->size += (size_t)got, size -= (size_t)got;
    }
    return true;
}

/* All frames, up to an exit code. */
static bool receive_reply(int daemon, struct reply *reply)
{
    for (;;) {
        if (!receive(daemon, reply, 5))
            return false;
        int kind = reply->bytes[reply->size - 5];
        size_t size = little_endian(reply->bytes + reply->size - 4);
        if (kind != OUT && kind != ERR && !(kind == EXIT && size == 1)) /* DECLINED, or nonsense */
            return false;
        if (!receive(daemon, reply, size))
            return false;
        if (kind == EXIT)
            return true;
    }
}

static bool ask_daemon(int argc, char **argv, struct reply *reply)
{
    size_t size;
    char *folder = run_folder(), *request = encode_request(argc, argv, &size);
    int daemon = folder != NULL && request != NULL ? connect_to_daemon(folder) : -1;
    return daemon >= 0 && send_all(daemon, request, size) && receive_reply(daemon, reply);
}

static bool print(int stream, const unsigned char *bytes, size_t size)
{
    struct pollfd room = {.fd = stream, .events = POLLOUT};
    while (size > 0) {
        ssize_t written = write(stream, bytes, size);
        if (written < 0 && errno == EAGAIN) /* whoever opened the stream made it non-blocking */
            poll(&room, 1, -1);
        else if (written < 0 && errno != EINTR)
            return false;
        if (written > 0)
            bytes += written, size -= (size_t)written;
    }
    return true;
}

/* Print the answer; returns the exit code. Where standard output takes no more, code and line are those of kb/cli/door.py. */
static int deliver(const struct reply *reply)
{
    const unsigned char *frame = reply->bytes;
    while (*frame != EXIT) {
        size_t size = little_endian(frame + 1);
        if (!print(*frame, frame + 5, size) && *frame == OUT) {
            if (errno == EPIPE) /* the reader has seen enough */
                return 0;
            fprintf(stderr, "kb: [Errno %d] %s (check the path, its permissions and the free space)\n", errno, strerror(errno));
            return 1;
        }
        frame += 5 + size;
    }
    return frame[5];
}

/* The program of this name beside this one, links to this one resolved. */
static char *beside(const char *name)
{
    char self[PATH_MAX], *path;
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
    int folder_size = (int)(strrchr(self, '/') - self);
    return asprintf(&path, "%.*s/%s", folder_size, self, name) < 0 ? "" : path;
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

int main(int argc, char **argv)
{
    struct reply reply = {0};
    void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* a closed stdout or daemon is an answer of write() */
    if (may_be_forwarded(argv) && ask_daemon(argc, argv, &reply))
        return deliver(&reply);
    signal(SIGPIPE, before);
    become_python(argc, argv);
    fprintf(stderr, "kb: no python3 beside this program or on PATH (%s); install kb-search again\n", strerror(errno));
    return 127;
}
