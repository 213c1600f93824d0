/* Containers of a pod, including init containers: names, images, ports, environment, mounts,
 * probes, resources and security. Of volumes, only the names are checked here; volume.c checks the
 * rest. */
#include "valid/kinds.h"

#include "object/tree.h"

#include <string.h>

/* ---- environment ---- */

static const char *const env_sources[] = {"fieldRef", "resourceFieldRef", "configMapKeyRef",
                                          "secretKeyRef", "fileKeyRef"};

static bool is_field_path(struct pl_slice path)
{
    static const char keyed[] = "metadata.annotations['", keyed2[] = "metadata.labels['";
    return pl_is_among(path,
                       "metadata.name,metadata.namespace,metadata.uid,spec.nodeName,"
                       "spec.serviceAccountName,status.hostIP,status.hostIPs,status.podIP,"
                       "status.podIPs,metadata.labels,metadata.annotations,spec.restartPolicy,"
                       "status.phase") ||
           (path.len > sizeof(keyed) && memcmp(path.ptr, keyed, sizeof(keyed) - 1) == 0) ||
           (path.len > sizeof(keyed2) && memcmp(path.ptr, keyed2, sizeof(keyed2) - 1) == 0);
}

static void field_path(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *value, const char *arg)
{
    PL_UNUSED(arg);
    if (pl_is_empty(value))
        pl_bad_required(f, at, "");
    else if (!is_field_path(pl_tree_text(value)))
        pl_bad_value(f, at, value, "error converting fieldPath: field label not supported: %.*s",
                     PL_FMT(pl_tree_text(value)));
}

static void need_then_resource(struct pl_api_faults *f, const struct pl_spot *at,
                               const struct pl_tree *value, const char *arg)
{
    PL_UNUSED(arg);
    if (pl_is_empty(value))
        pl_bad_required(f, at, "");
    else if (strncmp(value->text.ptr, "limits.hugepages-", 17) != 0 &&
             strncmp(value->text.ptr, "requests.hugepages-", 19) != 0)
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
        {"valueFrom.fieldRef.fieldPath", field_path, NULL},
        {"valueFrom.resourceFieldRef.resource", need_then_resource, NULL},
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
    pl_hold(f, at, source, rules);
}

/* ---- probes and handlers ---- */

static void check_handler(struct pl_api_faults *f, const struct pl_spot *at,
                          const struct pl_tree *handler)
{
    static const struct pl_rule rules[] = {
        {"exec.command", pl_need, NULL},
        {"httpGet.path", pl_need, NULL},
        {"httpGet.port", pl_port, NULL},
        {"httpGet.scheme", pl_must_be, "HTTP,HTTPS"},
        {"httpGet.httpHeaders[].name", pl_need, NULL},
        {"tcpSocket.port", pl_port, NULL},
        {"grpc.port", pl_range, "1-65535"},
        {NULL, NULL, NULL},
    };
    static const char *const handlers[] = {"exec", "httpGet", "tcpSocket", "grpc", "sleep"};
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

/* ---- resources ---- */

static void check_resources(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *resources)
{
    static const struct pl_rule rules[] = {
        {"limits", pl_natural_all, NULL}, {"requests", pl_natural_all, NULL}, {NULL, NULL, NULL}};
    const struct pl_tree *limits = pl_tree_getz(resources, "limits");
    pl_hold(f, at, resources, rules);
    PL_TREE_FOR(item, pl_tree_getz(resources, "requests"))
    {
        const struct pl_tree *limit = pl_tree_get(limits, item->key);
        if (limit != NULL && pl_quantity_cmp(item->value, limit) > 0)
            pl_bad_value(f, PL_MEMBER(at, "requests"), item->value,
                         "must be less than or equal to %.*s limit of %.*s", PL_FMT(item->key),
                         PL_FMT(limit->text));
    }
}

/* ---- mounts, ports, security ---- */

static bool has_named(const struct pl_tree *list, const struct pl_tree *name)
{
    PL_EACH(item, list)
    if (pl_tree_equal(pl_tree_getz(item->value, "name"), name))
        return true;
    return false;
}

static void check_mounts(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *container, const struct pl_tree *volumes)
{
    const struct pl_tree *mounts = pl_tree_getz(container, "volumeMounts");
    size_t i = 0;
    PL_EACH(item, mounts)
    {
        const struct pl_spot *spot = PL_INDEX(at, i++);
        const struct pl_tree *name = pl_tree_getz(item->value, "name");
        const struct pl_tree *path = pl_tree_getz(item->value, "mountPath");
        pl_need(f, PL_MEMBER(spot, "name"), name, NULL);
        if (!has_named(volumes, name))
            pl_api_fault(f, "FieldValueNotFound", pl_spot_text(f, PL_MEMBER(spot, "name")),
                         "Not found: \"%.*s\"", PL_FMT(pl_tree_text(name)));
        pl_need(f, PL_MEMBER(spot, "mountPath"), path, NULL);
        for (const struct pl_tree_item *before = mounts->first; before != item;
             before = before->next)
            if (pl_tree_equal(pl_tree_getz(before->value, "mountPath"), path) &&
                !pl_is_empty(path)) {
                pl_bad_value(f, PL_MEMBER(spot, "mountPath"), path, "must be unique");
                break;
            }
        struct pl_slice sub = pl_tree_text_at(item->value, "subPath");
        if (sub.len > 0 && sub.ptr[0] == '/')
            pl_bad_value(f, PL_MEMBER(spot, "subPath"), pl_tree_getz(item->value, "subPath"),
                         "must be a relative path");
    }
}

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

static void check_security(struct pl_api_faults *f, const struct pl_spot *at,
                           const struct pl_tree *context)
{
    const struct pl_tree *escalation = pl_tree_getz(context, "allowPrivilegeEscalation");
    if (escalation == NULL || pl_is_true(escalation))
        return;
    if (pl_is_true(pl_tree_getz(context, "privileged")))
        pl_bad_value(f, at, context,
                     "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    PL_EACH(item, pl_tree_dig(context, "capabilities.add"))
    if (pl_is_among(pl_tree_text(item->value), "SYS_ADMIN,CAP_SYS_ADMIN"))
        pl_bad_value(f, at, context,
                     "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` "
                     "CAP_SYS_ADMIN");
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
    {"securityContext.runAsUser", pl_range, "0-2147483647"},
    {"securityContext.runAsGroup", pl_range, "0-2147483647"},
    {"securityContext.procMount", pl_if_set, "Default,Unmasked"},
    {"securityContext.seccompProfile.type", pl_must_be, "Localhost,RuntimeDefault,Unconfined"},
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

static void check_container(struct pl_api_faults *f, const struct pl_spot *at,
                            const struct pl_tree *container, const struct pl_tree *volumes)
{
    size_t i = 0;
    pl_hold(f, at, container, container_rules);
    check_image(f, at, pl_tree_getz(container, "image"));
    const struct pl_spot *env = PL_MEMBER(at, "env"), *from = PL_MEMBER(at, "envFrom");
    PL_EACH(item, pl_tree_getz(container, "env"))
    check_env(f, PL_INDEX(env, i++), item->value);
    i = 0;
    PL_EACH(item, pl_tree_getz(container, "envFrom"))
    check_env_from(f, PL_INDEX(from, i++), item->value);
    check_mounts(f, PL_MEMBER(at, "volumeMounts"), container, volumes);
    check_resources(f, PL_MEMBER(at, "resources"), pl_tree_getz(container, "resources"));
    check_security(f, PL_MEMBER(at, "securityContext"), pl_tree_getz(container, "securityContext"));
}

static void check_life(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *container)
{
    const struct pl_tree *lifecycle = pl_tree_getz(container, "lifecycle");
    const struct pl_spot *spot = PL_MEMBER(at, "lifecycle");
    check_handler(f, PL_MEMBER(spot, "postStart"), pl_tree_getz(lifecycle, "postStart"));
    check_handler(f, PL_MEMBER(spot, "preStop"), pl_tree_getz(lifecycle, "preStop"));
    check_probe(f, PL_MEMBER(at, "livenessProbe"), pl_tree_getz(container, "livenessProbe"), true);
    check_probe(f, PL_MEMBER(at, "readinessProbe"), pl_tree_getz(container, "readinessProbe"),
                false);
    check_probe(f, PL_MEMBER(at, "startupProbe"), pl_tree_getz(container, "startupProbe"), true);
}

static void check_init(struct pl_api_faults *f, const struct pl_spot *at,
                       const struct pl_tree *container)
{
    static const char *const members[] = {"lifecycle", "livenessProbe", "readinessProbe",
                                          "startupProbe"};
    static const char *const why[] = {
        "may not be set for init containers without restartPolicy=Always"};
    const struct pl_tree *policy = pl_tree_getz(container, "restartPolicy");
    pl_if_set(f, PL_MEMBER(at, "restartPolicy"), policy, "Always,Never,OnFailure");
    if (pl_slice_eqz(pl_tree_text(policy), "Always")) {
        check_life(f, at, container);
        return;
    }
    for (size_t i = 0; i < PL_ARRAY_LEN(members); i++)
        if (pl_tree_getz(container, members[i]) != NULL)
            pl_bad_forbidden(f, PL_MEMBER(at, members[i]), why[0]);
}

void pl_valid_containers(struct pl_api_faults *f, const struct pl_spot *at,
                         const struct pl_tree *spec, bool own)
{
    const struct pl_tree *list = pl_tree_getz(spec, "containers");
    const struct pl_tree *inits = pl_tree_getz(spec, "initContainers");
    const struct pl_tree *volumes = pl_tree_getz(spec, "volumes");
    const struct pl_spot *spot = PL_MEMBER(at, "containers");
    size_t i = 0;
    PL_UNUSED(own);
    if (pl_is_empty(list))
        pl_bad_required(f, spot, "");
    PL_EACH(item, list)
    {
        const struct pl_spot *one = PL_INDEX(spot, i++);
        check_container(f, one, item->value, volumes);
        check_life(f, one, item->value);
    }
    pl_unique(f, spot, list, "name");
    spot = PL_MEMBER(at, "initContainers");
    i = 0;
    PL_EACH(item, inits)
    {
        const struct pl_spot *one = PL_INDEX(spot, i++);
        check_container(f, one, item->value, volumes);
        check_init(f, one, item->value);
        const struct pl_tree *name = pl_tree_getz(item->value, "name");
        if (!pl_is_empty(name) && has_named(list, name))
            pl_bad_duplicate(f, PL_MEMBER(one, "name"), name);
    }
    pl_unique(f, spot, inits, "name");
}
