#include "load_pod_fields.h"

#include <stddef.h>

static const struct load_field field_ref[] = {
    {"apiVersion", 1, 0, FIELD_TEXT, NULL}, {"fieldPath", 2, 0, FIELD_TEXT, NULL}, {0}};
static const struct load_field managed_fields[] = {
    {"manager", 1, 0, FIELD_TEXT, NULL},     {"operation", 2, 0, FIELD_TEXT, NULL},
    {"apiVersion", 3, 0, FIELD_TEXT, NULL},  {"time", 4, 0, FIELD_TIME, NULL},
    {"fieldsType", 6, 0, FIELD_TEXT, NULL},  {"fieldsV1", 7, 0, FIELD_JSON, NULL},
    {"subresource", 8, 0, FIELD_TEXT, NULL}, {0}};
static const struct load_field owner[] = {{"kind", 1, 0, FIELD_TEXT, NULL},
                                          {"name", 3, 0, FIELD_TEXT, NULL},
                                          {"uid", 4, 0, FIELD_TEXT, NULL},
                                          {"apiVersion", 5, 0, FIELD_TEXT, NULL},
                                          {"controller", 6, 0, FIELD_FLAG, NULL},
                                          {"blockOwnerDeletion", 7, 0, FIELD_FLAG, NULL},
                                          {0}};
static const struct load_field metadata[] = {
    {"name", 1, 0, FIELD_TEXT, NULL},
    {"generateName", 2, 0, FIELD_TEXT, NULL},
    {"namespace", 3, 0, FIELD_TEXT, NULL},
    {"uid", 5, 0, FIELD_TEXT, NULL},
    {"resourceVersion", 6, 0, FIELD_TEXT, NULL},
    {"creationTimestamp", 8, 0, FIELD_TIME, NULL},
    {"labels", 11, 0, FIELD_TEXTS, NULL},
    {"annotations", 12, 0, FIELD_TEXTS, NULL},
    {"ownerReferences", 13, 0, FIELD_MESSAGE, owner},
    {"managedFields", 17, 0, FIELD_MESSAGE, managed_fields},
    {0}};
static const struct load_field port[] = {{"name", 1, 0, FIELD_TEXT, NULL},
                                         {"containerPort", 3, 0, FIELD_NUMBER, NULL},
                                         {"protocol", 4, 0, FIELD_TEXT, NULL},
                                         {0}};
static const struct load_field env_source[] = {{"fieldRef", 1, 0, FIELD_MESSAGE, field_ref}, {0}};
static const struct load_field env[] = {{"name", 1, 0, FIELD_TEXT, NULL},
                                        {"value", 2, 0, FIELD_TEXT, NULL},
                                        {"valueFrom", 3, 0, FIELD_MESSAGE, env_source},
                                        {0}};
static const struct load_field resources[] = {
    {"limits", 1, 0, FIELD_QUANTITIES, NULL}, {"requests", 2, 0, FIELD_QUANTITIES, NULL}, {0}};
static const struct load_field mount[] = {{"name", 1, 0, FIELD_TEXT, NULL},
                                          {"readOnly", 2, 0, FIELD_FLAG, NULL},
                                          {"mountPath", 3, 0, FIELD_TEXT, NULL},
                                          {0}};
static const struct load_field http_get[] = {{"path", 1, 0, FIELD_TEXT, NULL},
                                             {"port", 2, 0, FIELD_NUMBER_NOT_TEXT, NULL},
                                             {"scheme", 4, 0, FIELD_TEXT, NULL},
                                             {0}};
static const struct load_field probe[] = {{"httpGet", 2, 1, FIELD_MESSAGE, http_get},
                                          {"initialDelaySeconds", 2, 0, FIELD_NUMBER, NULL},
                                          {"timeoutSeconds", 3, 0, FIELD_NUMBER, NULL},
                                          {"periodSeconds", 4, 0, FIELD_NUMBER, NULL},
                                          {"successThreshold", 5, 0, FIELD_NUMBER, NULL},
                                          {"failureThreshold", 6, 0, FIELD_NUMBER, NULL},
                                          {0}};
static const struct load_field container[] = {{"name", 1, 0, FIELD_TEXT, NULL},
                                              {"image", 2, 0, FIELD_TEXT, NULL},
                                              {"ports", 6, 0, FIELD_MESSAGE, port},
                                              {"env", 7, 0, FIELD_MESSAGE, env},
                                              {"resources", 8, 0, FIELD_MESSAGE, resources},
                                              {"volumeMounts", 9, 0, FIELD_MESSAGE, mount},
                                              {"livenessProbe", 10, 0, FIELD_MESSAGE, probe},
                                              {"readinessProbe", 11, 0, FIELD_MESSAGE, probe},
                                              {"terminationMessagePath", 13, 0, FIELD_TEXT, NULL},
                                              {"imagePullPolicy", 14, 0, FIELD_TEXT, NULL},
                                              {"terminationMessagePolicy", 20, 0, FIELD_TEXT, NULL},
                                              {0}};
static const struct load_field toleration[] = {{"key", 1, 0, FIELD_TEXT, NULL},
                                               {"operator", 2, 0, FIELD_TEXT, NULL},
                                               {"effect", 4, 0, FIELD_TEXT, NULL},
                                               {"tolerationSeconds", 5, 0, FIELD_NUMBER, NULL},
                                               {0}};
static const struct load_field downward_file[] = {
    {"path", 1, 0, FIELD_TEXT, NULL}, {"fieldRef", 2, 0, FIELD_MESSAGE, field_ref}, {0}};
static const struct load_field downward[] = {{"items", 1, 0, FIELD_MESSAGE, downward_file}, {0}};
static const struct load_field key_to_path[] = {
    {"key", 1, 0, FIELD_TEXT, NULL}, {"path", 2, 0, FIELD_TEXT, NULL}, {0}};
static const struct load_field config_map[] = {
    {"name", 1, 1, FIELD_TEXT, NULL}, {"items", 2, 0, FIELD_MESSAGE, key_to_path}, {0}};
static const struct load_field token[] = {
    {"expirationSeconds", 2, 0, FIELD_NUMBER, NULL}, {"path", 3, 0, FIELD_TEXT, NULL}, {0}};
static const struct load_field projection[] = {{"downwardAPI", 2, 0, FIELD_MESSAGE, downward},
                                               {"configMap", 3, 0, FIELD_MESSAGE, config_map},
                                               {"serviceAccountToken", 4, 0, FIELD_MESSAGE, token},
                                               {0}};
static const struct load_field projected[] = {
    {"sources", 1, 0, FIELD_MESSAGE, projection}, {"defaultMode", 2, 0, FIELD_NUMBER, NULL}, {0}};
static const struct load_field volume[] = {
    {"name", 1, 0, FIELD_TEXT, NULL}, {"projected", 26, 2, FIELD_MESSAGE, projected}, {0}};
static const struct load_field nothing[] = {{0}};
static const struct load_field spec[] = {
    {"volumes", 1, 0, FIELD_MESSAGE, volume},
    {"containers", 2, 0, FIELD_MESSAGE, container},
    {"restartPolicy", 3, 0, FIELD_TEXT, NULL},
    {"terminationGracePeriodSeconds", 4, 0, FIELD_NUMBER, NULL},
    {"dnsPolicy", 6, 0, FIELD_TEXT, NULL},
    {"serviceAccountName", 8, 0, FIELD_TEXT, NULL},
    {"serviceAccount", 9, 0, FIELD_TEXT, NULL},
    {"nodeName", 10, 0, FIELD_TEXT, NULL},
    {"securityContext", 14, 0, FIELD_MESSAGE, nothing},
    {"schedulerName", 19, 0, FIELD_TEXT, NULL},
    {"tolerations", 22, 0, FIELD_MESSAGE, toleration},
    {"priority", 25, 0, FIELD_NUMBER, NULL},
    {"enableServiceLinks", 30, 0, FIELD_FLAG, NULL},
    {"preemptionPolicy", 31, 0, FIELD_TEXT, NULL},
    {0}};
static const struct load_field condition[] = {{"type", 1, 0, FIELD_TEXT, NULL},
                                              {"status", 2, 0, FIELD_TEXT, NULL},
                                              {"lastProbeTime", 3, 0, FIELD_TIME, NULL},
                                              {"lastTransitionTime", 4, 0, FIELD_TIME, NULL},
                                              {0}};
static const struct load_field running[] = {{"startedAt", 1, 0, FIELD_TIME, NULL}, {0}};
static const struct load_field state[] = {{"running", 2, 0, FIELD_MESSAGE, running}, {0}};
static const struct load_field container_status[] = {
    {"name", 1, 0, FIELD_TEXT, NULL},           {"state", 2, 0, FIELD_MESSAGE, state},
    {"lastState", 3, 0, FIELD_MESSAGE, state},  {"ready", 4, 0, FIELD_FLAG, NULL},
    {"restartCount", 5, 0, FIELD_NUMBER, NULL}, {"image", 6, 0, FIELD_TEXT, NULL},
    {"imageID", 7, 0, FIELD_TEXT, NULL},        {"containerID", 8, 0, FIELD_TEXT, NULL},
    {"started", 9, 0, FIELD_FLAG, NULL},        {0}};
static const struct load_field pod_ip[] = {{"ip", 1, 0, FIELD_TEXT, NULL}, {0}};
static const struct load_field status[] = {
    {"phase", 1, 0, FIELD_TEXT, NULL},
    {"conditions", 2, 0, FIELD_MESSAGE, condition},
    {"hostIP", 5, 0, FIELD_TEXT, NULL},
    {"podIP", 6, 0, FIELD_TEXT, NULL},
    {"startTime", 7, 0, FIELD_TIME, NULL},
    {"containerStatuses", 8, 0, FIELD_MESSAGE, container_status},
    {"qosClass", 9, 0, FIELD_TEXT, NULL},
    {"podIPs", 12, 0, FIELD_MESSAGE, pod_ip},
    {"hostIPs", 16, 0, FIELD_MESSAGE, pod_ip},
    {0}};
const struct load_field load_pod_fields[] = {
    {"apiVersion", 0, 0, FIELD_LEFT_OUT, NULL},  {"kind", 0, 0, FIELD_LEFT_OUT, NULL},
    {"metadata", 1, 0, FIELD_MESSAGE, metadata}, {"spec", 2, 0, FIELD_MESSAGE, spec},
    {"status", 3, 0, FIELD_MESSAGE, status},     {0}};
