/* Gets ready what OpenSSL makes when TLS is first used: its configuration, its algorithms, random
 * numbers. Some milliseconds of computing, for a moment in which the thread would wait otherwise;
 * a process that never calls it pays on its first connection. */
#pragma once

/* ca_pem: what servers are going to be checked with, so that its forms are ready, too. NULL: none;
 * nothing is said about a malformed one here. */
void pl_tls_prepare(const char *ca_pem);
