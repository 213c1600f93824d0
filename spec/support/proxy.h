/* A small proxy on a separate thread, for one connection after the other. */
#pragma once

enum proxy_kind {
    PROXY_CONNECT, /* HTTP: answers CONNECT with 200 and passes bytes on */
    PROXY_REFUSE,  /* HTTP: answers 403 */
    PROXY_SOCKS5,  /* takes a name or an address, no password */
};

struct proxy;

/* For any requested host the bytes go to 127.0.0.1:target_port. */
struct proxy *proxy_start(enum proxy_kind kind, int target_port);
int proxy_port(const struct proxy *proxy);
/* Ends the thread. Afterwards proxy_heard returns the request: the HTTP head, or "host:port" of
 * SOCKS. */
void proxy_stop(struct proxy *proxy);
const char *proxy_heard(const struct proxy *proxy);
void proxy_destroy(struct proxy *proxy);
