/* Asks the server for an answer while its watches are silent, so that an HTTP/2 connection to a
 * dead peer is detected (rule 154). A GET shares the watches' connection, so a missing answer means
 * the same as a missing ping. One request serves all watches of a client. */
#include "kube/client_impl.h"

static void on_probe_due(struct pl_timer *timer);

static void on_probe_answer(void *arg, const struct pl_answer *answer)
{
    struct pl_client *client = arg;
    struct pl_probe *probe = &client->probe;
    const struct pl_err *err = answer->err;
    int64_t asked_ns = probe->asked_ns;
    probe->op = NULL;
    if (err != NULL && err->code == PL_ECANCELED)
        return;
    pl_timer_start(client->timers, &probe->timer, client->probe_ns, on_probe_due);
    if (err != NULL && (err->code == PL_ETIMEOUT || err->code == PL_ENETWORK))
        pl_watches_give_up(client, asked_ns); /* may destroy the client */
}

static void on_probe_due(struct pl_timer *timer)
{
    struct pl_client *client = PL_CONTAINER_OF(timer, struct pl_client, probe.timer);
    int64_t heard = pl_watches_heard(client), now = pl_client_now(client);
    if (heard == INT64_MAX)
        return; /* the next watch starts it again */
    int64_t silent = now - heard;
    if (silent < client->probe_ns) {
        pl_timer_start(client->timers, timer, client->probe_ns - silent, on_probe_due);
        return;
    }
    struct pl_call call = {
        .verb = PL_VERB_GET,
        .raw_path = pl_slice_z("/version"),
        .grace_period = -1,
        .timeout_ns = client->probe_ns / 2,
    };
    client->probe.asked_ns = now;
    client->probe.op = pl_client_start(client, &call, on_probe_answer, client);
}

void pl_probe_expect(struct pl_client *client)
{
    struct pl_probe *probe = &client->probe;
    if (client->probe_ns > 0 && probe->op == NULL && !pl_timer_is_active(&probe->timer))
        pl_timer_start(client->timers, &probe->timer, client->probe_ns, on_probe_due);
}

void pl_probe_stop(struct pl_client *client)
{
    client->probe_ns = 0;
    pl_timer_stop(client->timers, &client->probe.timer);
}
