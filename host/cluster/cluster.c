/* Creates the parts of one cluster and destroys them in the opposite order. It only connects the
 * parts with each other. */
#include "cluster/cluster.h"

#include "base/alloc.h"
#include "event/source.h"
#include "write/recorder.h"

struct pl_cluster {
    char *name;                 /* owned; NULL: the host's own */
    struct pl_list others;      /* clusters whose home it is: their back-pointers */
    struct pl_link of_home;     /* in the home's others */
    struct pl_remotes *remotes; /* borrowed; NULL: none */
    struct pl_tracer *tracer;   /* borrowed; NULL: none */
    char **namespaces;          /* owned; NULL: all */
    struct pl_site *site;
    struct pl_informers *informers;
    struct pl_gate *gate;
    struct pl_recorder *recorder;
    struct pl_history history;
};

/* Trouble of a source is reported as an Event about our own pod. */
static void cluster_say(void *arg, const char *reason, const char *note)
{
    struct pl_cluster *cluster = arg;
    pl_recorder_own_event(cluster->recorder, true, reason, note);
}

struct pl_cluster *pl_cluster_create(const struct pl_cluster_options *options)
{
    struct pl_cluster *cluster = PL_NEW(struct pl_cluster);
    cluster->namespaces = pl_texts_sorted(options->namespaces);
    struct pl_site_options site = options->site;
    cluster->name = pl_strdup_or_null(options->name);
    pl_list_init(&cluster->others);
    site.name = cluster->name;
    if (options->home != NULL) {
        site.parent = options->home->site;
        pl_list_push(&options->home->others, &cluster->of_home);
    }
    site.say = cluster_say;
    site.say_arg = cluster;
    cluster->site = pl_site_create(&site);
    cluster->informers = pl_informers_create(cluster->site, cluster->namespaces);
    struct pl_gate_options gate = {.site = cluster->site,
                                   .informers = cluster->informers,
                                   .parent = options->home != NULL ? options->home->gate : NULL,
                                   .cluster = options->home != NULL ? cluster : NULL,
                                   .dry_run = options->dry_run};
    cluster->gate = pl_gate_create(&gate);
    struct pl_recorder_options recorder = {.site = cluster->site,
                                           .instance = options->instance,
                                           .self = options->self,
                                           .dry_run = options->dry_run};
    cluster->recorder = pl_recorder_create(&recorder);
    pl_history_init(&cluster->history, 0);
    return cluster;
}

void pl_cluster_destroy(struct pl_cluster *cluster)
{
    if (cluster == NULL)
        return;
    pl_recorder_destroy(cluster->recorder);
    pl_gate_destroy(cluster->gate);
    pl_informers_destroy(cluster->informers);
    pl_site_destroy(cluster->site);
    pl_history_deinit(&cluster->history);
    pl_texts_free(cluster->namespaces);
    pl_link_unlink(&cluster->of_home);
    pl_free(cluster->name);
    pl_free(cluster);
}

void pl_cluster_stop(struct pl_cluster *cluster)
{
    pl_informers_stop(cluster->informers);
    pl_recorder_drain(cluster->recorder);
    PL_LIST_FOR (link, &cluster->others)
        pl_cluster_stop(PL_CONTAINER_OF(link, struct pl_cluster, of_home));
}

void pl_cluster_set_tracer(struct pl_cluster *cluster, struct pl_tracer *tracer)
{
    cluster->tracer = tracer;
}

struct pl_tracer *pl_cluster_tracer(const struct pl_cluster *cluster)
{
    return cluster->tracer;
}

void pl_cluster_set_remotes(struct pl_cluster *home, struct pl_remotes *remotes)
{
    home->remotes = remotes;
}

struct pl_remotes *pl_cluster_remotes(const struct pl_cluster *home)
{
    return home->remotes;
}

struct pl_site *pl_cluster_site(struct pl_cluster *cluster)
{
    return cluster->site;
}

struct pl_informers *pl_cluster_informers(struct pl_cluster *cluster)
{
    return cluster->informers;
}

struct pl_gate *pl_cluster_gate(struct pl_cluster *cluster)
{
    return cluster->gate;
}

struct pl_recorder *pl_cluster_recorder(struct pl_cluster *cluster)
{
    return cluster->recorder;
}

struct pl_history *pl_cluster_history(struct pl_cluster *cluster)
{
    return &cluster->history;
}
