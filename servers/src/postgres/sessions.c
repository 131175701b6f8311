/* For a PostgreSQL server, which makes each of its processes a session of its own: a process group is enough for it.
 *
 * Linux schedules sessions as groups (autogroups), and left such processes without a processor for ten seconds beside
 * busy ones, which no test can bear. Seen with 6.18. */
#include <unistd.h>

pid_t setsid(void) { return setpgid(0, 0) ? -1 : getpid(); }
