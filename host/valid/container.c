/* Containers of a pod, including init containers: names, images, ports, environment, mounts,
 * probes, resources and security. Of volumes, only the names are checked here; volume.c checks the
 * rest. */
#include "valid/kinds.h"

#include "base/text.h"
#include "object/tree.h"

#include <string.h>

/* ---- environment ---- */

static const char env_sources[][20] = {"fieldRef", "resourceFieldRef", "configMapKeyRef",
                                       "secretKeyRef", "fileKeyRef"};

static void need_then_resource(struct pl_api_faults *f, const struct pl_spot *at,
                               const struct pl_tree *value, const char *arg)
{
    PL_UNUSED(arg);
    if (pl_is_empty(value))
        pl_bad_required(f, at, "");
    else if (!pl_text_begins(value->text, "limits.hugepages-") &&
             !pl_text_begins(value->text, "requests.hugepages-"))
        pl_one_of(f, at, value,
                  "limits.cpu,limits.ephemeral-storage,limits.memory,requests.cpu,"
                  "requests.ephemeral-storage,requests.memory");
}

static void need_then_key(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *value, const char *arg)
{
    if (pl_is_empty(value))
        pl_bad_required(f, at, "");
    else
        pl_config_key(f, at, value, arg);
}

/* pl_need, then characters. */
static void env_name(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *value,
                     const char *arg)
{
    struct pl_slice name = pl_tree_text(value);
    pl_need(f, at, value, arg);
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] < ' ' || name.ptr[i] > '~' || name.ptr[i] == '=') {
            pl_bad_value(f, at, value,
                         "a valid environment variable name must consist only of printable ASCII "
                         "characters other than '='");
            return;
        }
}

static void check_env(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *env)
{
    static const struct pl_rule rules[] = {
        {"name", env_name, NULL},
        {"valueFrom.fieldRef", pl_valid_field_ref,
         "metadata.name,metadata.namespace,metadata.uid,spec.nodeName,spec.serviceAccountName,"
         "status.hostIP,status.hostIPs,status.podIP,status.podIPs"},
        {"valueFrom.resourceFieldRef.resource", need_then_resource, NULL},
        {"valueFrom.resourceFieldRef", pl_valid_divisor, NULL},
        {"valueFrom.configMapKeyRef.key", need_then_key, NULL},
        {"valueFrom.configMapKeyRef.name", pl_subdomain, "always"},
        {"valueFrom.secretKeyRef.key", need_then_key, NULL},
        {"valueFrom.secretKeyRef.name", pl_subdomain, "always"},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *from = pl_tree_getz(env, "valueFrom");
    const struct pl_spot *spot = PL_MEMBER(at, "valueFrom");
    size_t count = 0;
    for (size_t i = 0; i < PL_ARRAY_LEN(env_sources); i++)
        count += pl_tree_getz(from, env_sources[i]) != NULL;
    if (from != NULL && count == 0)
        pl_bad_value(f, spot, pl_tree_strz(f->arena, ""),
                     "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
                     "`secretKeyRef` or `fileKeyRef`");
    else if (!pl_is_empty(pl_tree_getz(env, "value")) && count > 0)
        pl_bad_value(f, spot, pl_tree_strz(f->arena, ""),
                     "may not be specified when `value` is not empty");
    else if (count > 1)
        pl_bad_value(f, spot, pl_tree_strz(f->arena, ""),
                     "may not have more than one field specified at a time");
    pl_hold(f, at, env, rules);
}

static void check_env_from(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *source)
{
    static const struct pl_rule rules[] = {
        {"configMapRef.name", pl_need, NULL},
        {"configMapRef.name", pl_subdomain, NULL},
        {"secretRef.name", pl_need, NULL},
        {"secretRef.name", pl_subdomain, NULL},
        {NULL, NULL, NULL},
    };
    size_t count = pl_tree_getz(source, "configMapRef") != NULL;
    count += pl_tree_getz(source, "secretRef") != NULL;
    if (count == 0)
        pl_bad_value(f, at->up, pl_tree_strz(f->arena, ""),
                     "must specify one of: `configMapRef` or `secretRef`");
    else if (count > 1)
        pl_bad_value(f, at->up, pl_tree_strz(f->arena, ""),
                     "may not have more than one field specified at a time");
    if (!pl_is_empty(pl_tree_getz(source, "prefix")))
        env_name(f, PL_MEMBER(at, "prefix"), pl_tree_getz(source, "prefix"), NULL);
    pl_hold(f, at, source, rules);
}

/* ---- probes and handlers ---- */

static void header_name(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *value, const char *arg)
{
    struct pl_slice text = pl_tree_text(value);
    bool good = text.len > 0;
    PL_UNUSED(arg);
    for (size_t i = 0; good && i < text.len; i++)
        good = pl_is_alnum(text.ptr[i]) || text.ptr[i] == '-';
    if (!good) /* its message has no index */
        pl_bad_value(f, at->up->up, pl_or_empty(f, value),
                     "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. "
                     "'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')");
}

static void check_handler(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *handler)
{
    static const struct pl_rule rules[] = {
        {"exec.command", pl_need, NULL},
        {"httpGet.path", pl_need, NULL},
        {"httpGet.port", pl_port, NULL},
        {"httpGet.scheme", pl_must_be, "HTTP,HTTPS"},
        {"httpGet.httpHeaders[].name", header_name, NULL},
        {"tcpSocket.port", pl_port, NULL},
        {"grpc.port", pl_range, "1-65535"},
        {NULL, NULL, NULL},
    };
    static const char handlers[][12] = {"exec", "httpGet", "tcpSocket", "grpc", "sleep"};
    size_t count = 0;
    if (handler == NULL)
        return;
    for (size_t i = 0; i < PL_ARRAY_LEN(handlers); i++)
        if (pl_tree_getz(handler, handlers[i]) != NULL && count++ > 0)
            pl_bad_forbidden(f, PL_MEMBER(at, handlers[i]),
                             "may not specify more than 1 handler type");
    if (count == 0)
        pl_bad_required(f, at, "must specify a handler type");
    pl_hold(f, at, handler, rules);
}

/* A container must not sleep longer than the grace period of its pod. */
static void check_sleep(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *handler, const struct pl_tree *pod)
{
    const struct pl_tree *sleep = pl_tree_getz(handler, "sleep");
    int64_t seconds = pl_number_at(sleep, "seconds"), grace;
    if (sleep != NULL && pl_tree_getz(handler, "exec") == NULL &&
        pl_tree_getz(handler, "httpGet") == NULL && pl_tree_getz(handler, "tcpSocket") == NULL &&
        pl_tree_integer(pl_tree_getz(pod, "terminationGracePeriodSeconds"), &grace) &&
        (seconds < 0 || seconds > grace))
        pl_bad_value(f, PL_MEMBER(at, "sleep"), pl_tree_int(f->arena, seconds),
                     "must be non-negative and less than terminationGracePeriodSeconds (%lld)",
                     (long long)grace);
}

static void check_probe(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *probe, bool once)
{
    static const struct pl_rule rules[] = {
        {"initialDelaySeconds", pl_natural, NULL}, {"timeoutSeconds", pl_natural, NULL},
        {"periodSeconds", pl_natural, NULL},       {"successThreshold", pl_natural, NULL},
        {"failureThreshold", pl_natural, NULL},    {NULL, NULL, NULL},
    };
    static const struct pl_rule one[] = {{"successThreshold", pl_exactly_one, NULL},
                                         {NULL, NULL, NULL}};
    if (probe == NULL)
        return;
    check_handler(f, at, probe);
    pl_hold(f, at, probe, rules);
    int64_t grace;
    if (pl_tree_integer(pl_tree_getz(probe, "terminationGracePeriodSeconds"), &grace) && grace <= 0)
        pl_bad_value(f, PL_MEMBER(at, "terminationGracePeriodSeconds"),
                     pl_tree_getz(probe, "terminationGracePeriodSeconds"),
                     "must be greater than 0");
    if (once)
        pl_hold(f, at, probe, one);
}

/* ---- ports ---- */

static void container_port(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *value, const char *arg)
{
    int64_t port = 0;
    pl_tree_integer(value, &port);
    if (port == 0)
        pl_bad_required(f, at, "");
    else
        pl_range(f, at, value, arg);
}

static void host_port(struct pl_api_faults *f, const struct pl_spot *at,
                      const struct pl_tree *value, const char *arg)
{
    int64_t port = 0;
    if (pl_tree_integer(value, &port) && port != 0)
        pl_range(f, at, value, arg);
}

/* ---- containers ---- */

static const struct pl_rule container_rules[] = {
    {"name", pl_need, NULL},
    {"name", pl_label, NULL},
    {"image", pl_need, NULL},
    {"imagePullPolicy", pl_needs_one, "Always,IfNotPresent,Never"},
    {"terminationMessagePolicy", pl_needs_one, "File,FallbackToLogsOnError"},
    {"ports[].name", pl_some_port_name, NULL},
    {"ports", pl_unique, "name"},
    {"ports[].containerPort", container_port, "1-65535"},
    {"ports[].hostPort", host_port, "1-65535"},
    {"ports[].protocol", pl_needs_one, "SCTP,TCP,UDP"},
    {NULL, NULL, NULL},
};

static void check_image(struct pl_api_faults *f, const struct pl_spot *at,
                        const struct pl_tree *image)
{
    struct pl_slice text = pl_tree_text(image);
    if (text.len > 0 && (text.ptr[0] == ' ' || text.ptr[text.len - 1] == ' '))
        pl_bad_value(f, PL_MEMBER(at, "image"), image,
                     "must not have leading or trailing whitespace");
}

/* The file of a variable must be in an emptyDir volume of the pod. */
static void check_file(struct pl_api_faults *f, const struct pl_spot *at, const struct pl_tree *env,
                       const struct pl_tree *pod)
{
    const struct pl_tree *file = pl_tree_dig(env, "valueFrom.fileKeyRef");
    const struct pl_tree *name = pl_tree_getz(file, "volumeName");
    const struct pl_spot *here =
        PL_MEMBER(PL_MEMBER(PL_MEMBER(at, "valueFrom"), "fileKeyRef"), "volumeName");
    const struct pl_tree *volume = NULL;
    if (file == NULL)
        return;
    PL_EACH(item, pl_tree_getz(pod, "volumes"))
    if (pl_tree_equal(pl_tree_getz(item->value, "name"), name))
        volume = item->value;
    if (volume == NULL)
        pl_bad_not_found(f, here, pl_tree_text(name));
    else if (pl_tree_getz(volume, "emptyDir") == NULL)
        pl_bad_value(f, here, name, "referenced volume must be of type emptyDir");
}

/* A container's own restart policy, and its rules for exit codes. */
static void check_restart(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *container)
{
    static const struct pl_rule rules[] = {
        {"[].action", pl_must_be, "Restart,RestartAllContainers"},
        {"[].exitCodes", pl_need, "must be specified"},
        {"[].exitCodes.operator", pl_must_be, "In,NotIn"},
        {NULL, NULL, NULL},
    };
    const struct pl_tree *policy = pl_tree_getz(container, "restartPolicy");
    const struct pl_tree *list = pl_tree_getz(container, "restartPolicyRules");
    if (policy == NULL && !pl_is_empty(list))
        pl_bad_required(f, PL_MEMBER(at, "restartPolicy"),
                        "must specify restartPolicy when restart rules are used");
    pl_if_set(f, PL_MEMBER(at, "restartPolicy"), policy, "Always,Never,OnFailure");
    pl_at_most(f, PL_MEMBER(at, "restartPolicyRules"), list, 20);
    pl_hold(f, PL_MEMBER(at, "restartPolicyRules"), list, rules);
}

static void check_container(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *container, const struct pl_tree *pod,
                            const struct pl_tree *volumes, bool own)
{
    size_t i = 0;
    pl_hold(f, at, container, container_rules);
    if (own)
        check_image(f, at, pl_tree_getz(container, "image"));
    const struct pl_spot *env = PL_MEMBER(at, "env"), *from = PL_MEMBER(at, "envFrom");
    PL_EACH(item, pl_tree_getz(container, "env"))
    {
        check_env(f, PL_INDEX(env, i), item->value);
        check_file(f, PL_INDEX(env, i++), item->value, pod);
    }
    i = 0;
    PL_EACH(item, pl_tree_getz(container, "envFrom"))
    check_env_from(f, PL_INDEX(from, i++), item->value);
    pl_valid_mounts(f, at, container, volumes);
    pl_valid_resources(f, PL_MEMBER(at, "resources"), pl_tree_getz(container, "resources"),
                       pl_tree_getz(pod, "resourceClaims"), false);
    pl_valid_resize_policies(f, PL_MEMBER(at, "resizePolicy"),
                             pl_tree_getz(container, "resizePolicy"),
                             pl_tree_text_at(pod, "restartPolicy"));
    pl_valid_container_context(f, PL_MEMBER(at, "securityContext"),
                               pl_tree_getz(container, "securityContext"), pod);
    check_restart(f, at, container);
}

static void check_life(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *container, const struct pl_tree *pod)
{
    const struct pl_tree *lifecycle = pl_tree_getz(container, "lifecycle");
    const struct pl_spot *spot = PL_MEMBER(at, "lifecycle");
    check_handler(f, PL_MEMBER(spot, "postStart"), pl_tree_getz(lifecycle, "postStart"));
    check_sleep(f, PL_MEMBER(spot, "postStart"), pl_tree_getz(lifecycle, "postStart"), pod);
    check_handler(f, PL_MEMBER(spot, "preStop"), pl_tree_getz(lifecycle, "preStop"));
    check_sleep(f, PL_MEMBER(spot, "preStop"), pl_tree_getz(lifecycle, "preStop"), pod);
    check_probe(f, PL_MEMBER(at, "livenessProbe"), pl_tree_getz(container, "livenessProbe"), true);
    const struct pl_tree *ready = pl_tree_getz(container, "readinessProbe");
    const struct pl_tree *grace = pl_tree_getz(ready, "terminationGracePeriodSeconds");
    check_probe(f, PL_MEMBER(at, "readinessProbe"), ready, false);
    if (grace != NULL)
        pl_bad_value(f, PL_MEMBER(PL_MEMBER(at, "readinessProbe"), "terminationGracePeriodSeconds"),
                     grace, "must not be set for readinessProbes");
    check_probe(f, PL_MEMBER(at, "startupProbe"), pl_tree_getz(container, "startupProbe"), true);
}

static void check_init(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *container, const struct pl_tree *pod)
{
    static const char members[][16] = {"lifecycle", "livenessProbe", "readinessProbe",
                                       "startupProbe"};
    static const char why[][64] = {
        "may not be set for init containers without restartPolicy=Always"};
    const struct pl_tree *policy = pl_tree_getz(container, "restartPolicy");
    if (pl_slice_eqz(pl_tree_text(policy), "Always")) {
        check_life(f, at, container, pod);
        return;
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++)
        if (pl_tree_getz(container, members[i]) != NULL)
            pl_bad_forbidden(f, PL_MEMBER(at, members[i]), why[0]);
}

void pl_valid_containers(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *spec, const struct pl_tree *volumes, bool own)
{
    const struct pl_tree *list = pl_tree_getz(spec, "containers");
    const struct pl_tree *inits = pl_tree_getz(spec, "initContainers");
    const struct pl_spot *spot = PL_MEMBER(at, "containers");
    size_t i = 0;
    if (pl_is_empty(list))
        pl_bad_required(f, spot, "");
    PL_EACH(item, list)
    {
        const struct pl_spot *one = PL_INDEX(spot, i++);
        check_container(f, one, item->value, spec, volumes, own);
        check_life(f, one, item->value, spec);
    }
    pl_unique(f, spot, list, "name");
    spot = PL_MEMBER(at, "initContainers");
    i = 0;
    PL_EACH(item, inits)
    {
        const struct pl_spot *one = PL_INDEX(spot, i++);
        check_container(f, one, item->value, spec, volumes, own);
        check_init(f, one, item->value, spec);
        const struct pl_tree *name = pl_tree_getz(item->value, "name");
        if (!pl_is_empty(name) && pl_named(list, pl_tree_text(name)) != NULL)
            pl_bad_duplicate(f, PL_MEMBER(one, "name"), name);
    }
    pl_unique(f, spot, inits, "name");
}
