/* A wall clock of its own for the server that loads this before the C library (LD_PRELOAD).
 *
 * A file tells how the clock runs: how often it was set, and for each time the reading of the boot clock then, what it
 * has shown from then on, and by how many millionths it is fast. The last one counts. A count is written after what it
 * counts, so a reader sees all of it or nothing.
 *
 * Other clocks stay those of the machine. */

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct setting {
    int64_t boot;
    int64_t shows;
    int64_t fast_by;
};

struct clock {
    _Atomic uint64_t count;
    struct setting settings[SETTINGS];
};

static const struct clock *mapped;

__attribute__((constructor)) static void load(void) {
    const char *path = getenv("TENURE_SERVER_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    /* A server with the machine's clock would make the test worthless. */
    if (file < 0)
        abort();
    void *memory = mmap(NULL, sizeof(struct clock), PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        abort();
    close(file);
    mapped = memory;
}

static int64_t machine(clockid_t id) {
    struct timespec read;
    syscall(SYS_clock_gettime, id, &read);
    return read.tv_sec * 1000000000 + read.tv_nsec;
}

static int64_t shown(void) {
    /* Other libraries are loaded first, and may ask. */
    if (!mapped)
        return machine(CLOCK_REALTIME);
    uint64_t count = atomic_load_explicit(&mapped->count, memory_order_acquire);
    const struct setting *last = &mapped->settings[count - 1];
    int64_t passed = machine(CLOCK_BOOTTIME) - last->boot;
    return last->shows + passed + (int64_t)((__int128)passed * last->fast_by / 1000000);
}

int clock_gettime(clockid_t id, struct timespec *read) {
    if (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)
        return (int)syscall(SYS_clock_gettime, id, read);
    int64_t nanos = shown();
    read->tv_sec = nanos / 1000000000;
    read->tv_nsec = nanos % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *restrict read, void *restrict zone) {
    (void)zone;
    int64_t nanos = shown();
    read->tv_sec = nanos / 1000000000;
    read->tv_usec = nanos % 1000000000 / 1000;
    return 0;
}

time_t time(time_t *read) {
    time_t seconds = shown() / 1000000000;
    if (read)
        *read = seconds;
    return seconds;
}
