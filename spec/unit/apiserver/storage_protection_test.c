#include "apiserver/storage_protection.h"

#include "support/api_fixture.h"

#define CLAIMS  "/api/v1/namespaces/default/persistentvolumeclaims"
#define VOLUMES "/api/v1/persistentvolumes"
#define PODS    "/api/v1/namespaces/default/pods"
#define CLAIM                                                                                      \
    "{'metadata':{'name':'c'},'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{"   \
    "'storage':'1Gi'}}}}"
#define POD                                                                                        \
    "{'metadata':{'name':'p'},'spec':{'nodeName':'n','containers':[{'name':'c','image':'i'}],"     \
    "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'c'}}]}}"

TEST(a_claim_goes_a_moment_after_its_deletion)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, CLAIMS, CLAIM), 201);
    CHECK_AT(&t, "metadata.finalizers", "['kubernetes.io/pvc-protection']");
    CHECK_INT(api_delete(&t, CLAIMS "/c", NULL), 200);
    CHECK_INT(api_get(&t, CLAIMS "/c"), 200);
    api_advance(&t, 2 * PL_SECOND);
    CHECK_INT(api_get(&t, CLAIMS "/c"), 404);
    api_close(&t);
}

TEST(a_claim_stays_while_a_pod_on_a_node_mounts_it)
{
    struct api t;
    api_open(&t);
    api_post(&t, CLAIMS, CLAIM);
    CHECK_INT(api_post(&t, PODS, POD), 201);
    api_delete(&t, CLAIMS "/c", NULL);
    api_advance(&t, 5 * PL_SECOND);
    CHECK_INT(api_get(&t, CLAIMS "/c"), 200);
    api_delete(&t, PODS "/p", "{'gracePeriodSeconds':0}");
    api_advance(&t, 2 * PL_SECOND);
    CHECK_INT(api_get(&t, CLAIMS "/c"), 404);
    api_close(&t);
}

TEST(a_volume_stays_while_it_is_bound)
{
    struct api t;
    api_open(&t);
    CHECK_INT(api_post(&t, VOLUMES,
                       "{'metadata':{'name':'v'},'spec':{'accessModes':['ReadWriteOnce'],"
                       "'capacity':{'storage':'1Gi'},'hostPath':{'path':'/a'}}}"),
              201);
    CHECK_INT(api_send(&t, "PATCH", VOLUMES "/v/status", MERGE, "{'status':{'phase':'Bound'}}"),
              200);
    api_delete(&t, VOLUMES "/v", NULL);
    api_advance(&t, 5 * PL_SECOND);
    CHECK_INT(api_get(&t, VOLUMES "/v"), 200);
    CHECK_INT(api_send(&t, "PATCH", VOLUMES "/v/status", MERGE, "{'status':{'phase':'Released'}}"),
              200);
    api_advance(&t, 2 * PL_SECOND);
    CHECK_INT(api_get(&t, VOLUMES "/v"), 404);
    api_close(&t);
}

TEST_MAIN()
