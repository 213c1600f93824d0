/* Times writes of objects with many fields on the embedded API server, without sockets; see
 * scripts/bench/fields. */
#include "apiserver/api.h"
#include "base/buf.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CMS     "/api/v1/namespaces/default/configmaps"
#define PODS    "/api/v1/namespaces/default/pods"
#define WIDGETS "/apis/ex.com/v1/namespaces/default/widgets"
#define APPLY   "application/apply-patch+yaml"

static const size_t sizes[] = {1000, 3000, 10000, 30000, 60000};
static const int64_t too_long =
    20 * PL_SECOND; /* if a step takes longer, larger sizes are skipped */

static const char crd[] =
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
    "\"metadata\":{\"name\":\"widgets.ex.com\"},\"spec\":{\"group\":\"ex.com\",\"scope\":"
    "\"Namespaced\",\"names\":{\"plural\":\"widgets\",\"kind\":\"Widget\"},\"versions\":[{"
    "\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":"
    "\"object\",\"properties\":{\"map\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","
    "\"x-kubernetes-list-map-keys\":[\"n\"],\"items\":{\"type\":\"object\",\"required\":[\"n\"],"
    "\"properties\":{\"n\":{\"type\":\"string\"},\"v\":{\"type\":\"string\"}}}},\"set\":{\"type\":"
    "\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":\"string\"}}}}}}]}}";

/* ---- bodies ---- */

enum shape { KEYS, MAP, SET, UNKNOWN, CONTAINERS, OPERATIONS };

#define MOST_OPERATIONS 10000 /* of a JSON patch, like kube-apiserver's limit */

/* The parts of an object of each shape. */
static const struct {
    const char *api_version, *kind, *begin, *before, *between, *after, *end;
} shapes[] = {
    [KEYS] = {"v1", "ConfigMap", "\"data\":{", "\"", "\":\"", "\"", "}}"},
    [MAP] = {"ex.com/v1", "Widget", "\"map\":[", "{\"n\":\"", "\",\"v\":\"", "\"}", "]}"},
    [SET] = {"ex.com/v1", "Widget", "\"set\":[", "\"", "", "\"", "]}"},
    [UNKNOWN] = {"ex.com/v1", "Widget", "", "\"u", "\":\"", "\"", "}"},
    [CONTAINERS] = {"v1", "Pod", "\"spec\":{\"containers\":[", "{\"name\":\"", "\",\"image\":\"a",
                    "\"}", "]}}"},
    [OPERATIONS] = {"", "", "[", "{\"op\":\"add\",\"path\":\"/data/", "\",\"value\":\"", "\"}",
                    "]"},
};

/* Short names, so that an object has room for many. */
static void add_name(struct pl_buf *out, size_t i)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    for (size_t place = 36 * 36 * 36; place > 0; place /= 36)
        pl_buf_add_char(out, digits[i / place % 36]);
}

static void build_body(struct pl_buf *out, enum shape shape, const char *name, size_t count,
                       const char *value)
{
    /* A patch takes the object's last fields. */
    size_t first = shape == OPERATIONS && count > MOST_OPERATIONS ? count - MOST_OPERATIONS : 0;
    if (shape != OPERATIONS)
        pl_buf_add_f(out, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\"},",
                     shapes[shape].api_version, shapes[shape].kind, name);
    pl_buf_add_z(out, shapes[shape].begin);
    for (size_t i = first; i < count; i++) {
        pl_buf_add_z(out, i > first ? "," : "");
        pl_buf_add_z(out, shapes[shape].before);
        add_name(out, i);
        pl_buf_add_z(out, shapes[shape].between);
        pl_buf_add_z(out, shape == SET ? "" : value);
        pl_buf_add_z(out, shapes[shape].after);
    }
    pl_buf_add_z(out, shapes[shape].end);
}

/* ---- requests ---- */

static void on_reply(void *self, int status, const struct pl_http_header *headers, size_t count,
                     struct pl_slice body)
{
    PL_UNUSED(headers);
    PL_UNUSED(count);
    PL_UNUSED(body);
    *(int *)self = status;
}

static const struct pl_api_responder_ops ops = {.reply = on_reply};

static int send(struct pl_api *api, const char *method, const char *path, const char *query,
                const char *type, struct pl_slice body)
{
    int status = 0;
    struct pl_api_call call = {.method = method,
                               .path = pl_slice_z(path),
                               .query = pl_slice_z(query),
                               .content_type = type,
                               .user_agent = "bench/1",
                               .body = body};
    pl_api_handle(api, &call, (struct pl_api_responder){&ops, &status});
    pl_api_collect(api);
    return status;
}

struct step {
    const char *what;
    enum shape shape;
    const char *method, *object, *query, *type; /* object NULL: the collection */
    const char *value;
};

static const struct step steps[] = {
    {"keys: create", KEYS, "POST", NULL, "", "application/json", ""},
    {"keys: update of each", KEYS, "PUT", "a", "", "application/json", "1"},
    {"keys: merge patch", KEYS, "PATCH", "a", "", "application/merge-patch+json", "2"},
    {"keys: strategic patch", KEYS, "PATCH", "a", "", "application/strategic-merge-patch+json",
     "3"},
    {"keys: JSON patch", OPERATIONS, "PATCH", "a", "", "application/json-patch+json", "4"},
    {"keys: apply of a new one", KEYS, "PATCH", "b", "fieldManager=m", APPLY, ""},
    {"keys: apply, each changes", KEYS, "PATCH", "b", "fieldManager=m", APPLY, "1"},
    {"keys: apply by another, conflicts", KEYS, "PATCH", "b", "fieldManager=o", APPLY, "2"},
    {"list: create", MAP, "POST", NULL, "", "application/json", ""},
    {"list: merge patch", MAP, "PATCH", "a", "", "application/merge-patch+json", "2"},
    {"list: apply of a new one", MAP, "PATCH", "b", "fieldManager=m", APPLY, ""},
    {"list: apply, each changes", MAP, "PATCH", "b", "fieldManager=m", APPLY, "1"},
    {"list: apply by another, conflicts", MAP, "PATCH", "b", "fieldManager=o", APPLY, "2"},
    {"set: create", SET, "POST", NULL, "", "application/json", ""},
    {"set: apply of a new one", SET, "PATCH", "b", "fieldManager=m", APPLY, ""},
    {"containers: create", CONTAINERS, "POST", NULL, "", "application/json", ""},
    {"containers: strategic patch", CONTAINERS, "PATCH", "a", "",
     "application/strategic-merge-patch+json", "1"},
    {"containers: apply of a new one", CONTAINERS, "PATCH", "b", "fieldManager=m", APPLY, ""},
    {"containers: apply, each changes", CONTAINERS, "PATCH", "b", "fieldManager=m", APPLY, "1"},
    {"unknown fields: create", UNKNOWN, "POST", NULL, "fieldValidation=Warn", "application/json",
     ""},
};

/* ---- measuring ---- */

static struct pl_api *open_api(struct pl_timers *timers)
{
    struct pl_api_options options = {.rand_seed = 1};
    pl_timers_init(timers, pl_clock_system());
    struct pl_api *api = pl_api_create(timers, &options);
    send(api, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "",
         "application/json", pl_slice_z(crd));
    return api;
}

/* The step's share of a run: ns, and the answer's status. */
static int64_t run_step(struct pl_api *api, const struct step *step, size_t count, int *status)
{
    char path[80];
    struct pl_buf body = PL_BUF_INIT;
    build_body(&body, step->shape, step->object != NULL ? step->object : "a", count, step->value);
    const char *where = step->shape == CONTAINERS                          ? PODS
                        : step->shape == KEYS || step->shape == OPERATIONS ? CMS
                                                                           : WIDGETS;
    snprintf(path, sizeof(path), "%s%s%s", where, step->object != NULL ? "/" : "",
             step->object != NULL ? step->object : "");
    int64_t start = pl_clock_mono(pl_clock_system());
    *status = send(api, step->method, path, step->query, step->type, pl_buf_slice(&body));
    int64_t ns = pl_clock_mono(pl_clock_system()) - start;
    pl_buf_deinit(&body);
    return ns;
}

/* Steps of one shape build on each other; another one begins anew. */
static bool begins(size_t i)
{
    return steps[i].object == NULL;
}

static int64_t run_group(size_t first, size_t count, int64_t ns[], int status[])
{
    struct pl_timers timers;
    struct pl_api *api = open_api(&timers);
    int64_t sum = 0;
    size_t i = first;
    do {
        ns[i] = run_step(api, &steps[i], count, &status[i]);
        sum += ns[i];
        i++;
    } while (i < PL_ARRAY_LEN(steps) && !begins(i));
    pl_api_destroy(api);
    pl_timers_deinit(&timers);
    return sum;
}

int main(int argc, char **argv)
{
    size_t most = argc > 1 ? strtoul(argv[1], NULL, 10) : SIZE_MAX;
    enum { STEPS = PL_ARRAY_LEN(steps), SIZES = PL_ARRAY_LEN(sizes) };
    static int64_t ns[SIZES][STEPS];
    static int status[SIZES][STEPS];
    for (size_t first = 0; first < STEPS; first++)
        for (size_t s = 0; begins(first) && s < SIZES && sizes[s] <= most; s++)
            if (run_group(first, sizes[s], ns[s], status[s]) > too_long)
                break;
    printf("%-36s", "ms (status), by number of fields");
    for (size_t s = 0; s < SIZES; s++)
        printf(" %14zu", sizes[s]);
    printf("  us a field\n");
    for (size_t i = 0; i < STEPS; i++) {
        double each = 0;
        printf("%-36s", steps[i].what);
        for (size_t s = 0; s < SIZES; s++) {
            char text[32] = "-";
            if (status[s][i] != 0) {
                snprintf(text, sizeof(text), "%.1f (%d)", (double)ns[s][i] / 1e6, status[s][i]);
                each = (double)ns[s][i] / 1e3 / (double)sizes[s];
            }
            printf(" %14s", text);
        }
        printf("  %10.2f\n", each);
    }
    return 0;
}
