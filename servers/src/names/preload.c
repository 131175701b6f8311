/* A name server that is silent, for the process that loads this before the C library (LD_PRELOAD): no lookup ever
 * ends. */

#include <netdb.h>
#include <unistd.h>

int getaddrinfo(const char *restrict host, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict found) {
    (void)host, (void)service, (void)hints, (void)found;
    for (;;)
        pause();
}
