#include "world/user_request.h"

#include "base/alloc.h"

#define STEPS 20000000 /* limit of steps */

/* The side that ends last frees it: the server always answers, however late. */
struct asking {
    struct pl_world_answer *answer; /* NULL: nobody waits for it any more */
    bool done;
};

static void asking_reply(void *self, int status, const struct pl_http_header *headers, size_t count,
                         struct pl_slice body)
{
    struct asking *asking = self;
    PL_UNUSED(headers);
    PL_UNUSED(count);
    if (asking->answer == NULL) {
        pl_free(asking);
        return;
    }
    asking->answer->status = status;
    pl_buf_add_slice(&asking->answer->body, body);
    asking->done = true;
}

static const struct pl_api_responder_ops responder = {.reply = asking_reply};

bool pl_user_request(struct pl_api *api, const struct pl_api_call *call, bool (*move_on)(void *arg),
                     void *arg, struct pl_world_answer *answer)
{
    struct asking *asking = PL_NEW(struct asking);
    asking->answer = answer;
    pl_api_handle(api, call, (struct pl_api_responder){&responder, asking});
    for (int i = 0; i < STEPS && !asking->done && move_on(arg); i++)
        continue;
    bool done = asking->done;
    asking->answer = NULL;
    if (done)
        pl_free(asking);
    return done;
}
