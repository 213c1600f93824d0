/* A library context of OpenSSL whose random numbers come from a seed: its generator is a provider
 * of our own. The default context, and so TLS, never sees it. The context is made once, when a
 * thread first asks for it, and kept; the generator belongs to the thread, and each seed begins it
 * anew, so that nothing depends on what was made before. */
#include "crypto/x509_seed.h"
#include "crypto/x509_context.h"

#include "base/base.h"
#include "base/check.h"
#include "base/rand.h"

#include <limits.h>
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define NAME     "PERILUNE-SEEDED"
#define PROPERTY "provider=perilune"

static _Thread_local struct pl_rand dice;
static _Thread_local bool is_seeded;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static OSSL_LIB_CTX *context;

/* ---- the generator ---- */

/* The generator's state is the thread's; OpenSSL only needs a pointer that is not NULL. */
static void *new_generator(void *provider, void *parent, const OSSL_DISPATCH *calls)
{
    PL_UNUSED(parent), PL_UNUSED(calls);
    return provider;
}

static void free_generator(void *generator)
{
    PL_UNUSED(generator);
}

static int instantiate(void *generator, unsigned int strength, int resistance,
                       const unsigned char *text, size_t len, const OSSL_PARAM params[])
{
    PL_UNUSED(generator), PL_UNUSED(strength), PL_UNUSED(resistance);
    PL_UNUSED(text), PL_UNUSED(len), PL_UNUSED(params);
    return 1;
}

static int uninstantiate(void *generator)
{
    PL_UNUSED(generator);
    return 1;
}

static int generate(void *generator, unsigned char *out, size_t len, unsigned int strength,
                    int resistance, const unsigned char *text, size_t text_len)
{
    PL_UNUSED(generator), PL_UNUSED(strength), PL_UNUSED(resistance);
    PL_UNUSED(text), PL_UNUSED(text_len);
    while (len > 0) {
        uint64_t word = pl_rand_u64(&dice);
        size_t part = len < sizeof word ? len : sizeof word;
        memcpy(out, &word, part);
        out += part;
        len -= part;
    }
    return 1;
}

static int get_params(void *generator, OSSL_PARAM params[])
{
    PL_UNUSED(generator);
    OSSL_PARAM *state = OSSL_PARAM_locate(params, OSSL_RAND_PARAM_STATE);
    OSSL_PARAM *strength = OSSL_PARAM_locate(params, OSSL_RAND_PARAM_STRENGTH);
    OSSL_PARAM *most = OSSL_PARAM_locate(params, OSSL_RAND_PARAM_MAX_REQUEST);
    return (state == NULL || OSSL_PARAM_set_int(state, EVP_RAND_STATE_READY)) &&
           (strength == NULL || OSSL_PARAM_set_uint(strength, 256)) &&
           (most == NULL || OSSL_PARAM_set_size_t(most, INT_MAX));
}

/* Each thread has its own state, so nothing is locked. */
static int lock_nothing(void *generator)
{
    PL_UNUSED(generator);
    return 1;
}

static void unlock_nothing(void *generator)
{
    PL_UNUSED(generator);
}

/* ---- the provider ---- */

#define CALL(id, function)                                                                         \
    {                                                                                              \
        id, (void (*)(void))(function)                                                             \
    }

static const OSSL_DISPATCH generator_calls[] = {
    CALL(OSSL_FUNC_RAND_NEWCTX, new_generator),
    CALL(OSSL_FUNC_RAND_FREECTX, free_generator),
    CALL(OSSL_FUNC_RAND_INSTANTIATE, instantiate),
    CALL(OSSL_FUNC_RAND_UNINSTANTIATE, uninstantiate),
    CALL(OSSL_FUNC_RAND_GENERATE, generate),
    CALL(OSSL_FUNC_RAND_GET_CTX_PARAMS, get_params),
    CALL(OSSL_FUNC_RAND_ENABLE_LOCKING, lock_nothing),
    CALL(OSSL_FUNC_RAND_LOCK, lock_nothing),
    CALL(OSSL_FUNC_RAND_UNLOCK, unlock_nothing),
    {0, NULL},
};

static const OSSL_ALGORITHM generators[] = {
    {NAME, PROPERTY, generator_calls, "random numbers from a seed"},
    {NULL, NULL, NULL, NULL},
};

static const OSSL_ALGORITHM *query(void *provider, int operation, int *no_store)
{
    PL_UNUSED(provider);
    *no_store = 0;
    return operation == OSSL_OP_RAND ? generators : NULL;
}

static const OSSL_DISPATCH provider_calls[] = {
    CALL(OSSL_FUNC_PROVIDER_QUERY_OPERATION, query),
    {0, NULL},
};

static int init(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in, const OSSL_DISPATCH **out,
                void **provider)
{
    PL_UNUSED(handle), PL_UNUSED(in);
    static char self; /* not NULL, and nothing else */
    *out = provider_calls;
    *provider = &self;
    return 1;
}

static void make_context(void)
{
    context = OSSL_LIB_CTX_new();
    PL_REQUIRE(context != NULL && OSSL_PROVIDER_add_builtin(context, "perilune", init) == 1 &&
               OSSL_PROVIDER_load(context, "default") != NULL &&
               OSSL_PROVIDER_load(context, "perilune") != NULL &&
               RAND_set_DRBG_type(context, NAME, PROPERTY, NULL, NULL) == 1);
}

void pl_x509_seed(uint64_t seed)
{
    is_seeded = seed != 0;
    pl_rand_seed(&dice, seed);
}

OSSL_LIB_CTX *pl_x509_context(void)
{
    if (!is_seeded)
        return NULL;
    pthread_once(&once, make_context);
    return context;
}
